import { z } from "zod";
import { readConfig } from "../config.ts";
import { loadEmbedded } from "../embedded.ts";
import { ClockAdvance, Duration, formatDuration, parseDuration, TestClock } from "../schemas/testClock.ts";
import { CommandFailure, runCommand, UsageError, withArguments } from "./runCommand.ts";
import { bold, dim } from "./terminal.ts";

const usage = `Shows the time of a service on this machine, or moves it forward: deadlines pass, webhooks are retried, sessions end.

Usage, while Rebid runs with its embedded services:
  npm run clock
      Shows the service's time.
  npm run clock -- advance DURATION
      Moves it forward, and waits until everything that fell due is done.

DURATION has weeks, days, hours, minutes and seconds, in this order: 49h, 90m, 2d12h. The clock never runs backwards; for a
new one, stop the service and delete its data directory. Exits with 1 if something that fell due could not be done.`;

async function call(method: "GET" | "POST", body?: object): Promise<unknown> {
  const config = readConfig(process.env);
  if (config.production) throw new CommandFailure("There is no test clock in production.");
  const { findServiceUrl } = await loadEmbedded();
  const url = findServiceUrl(config.dataDirectory);
  if (url === null)
    throw new CommandFailure(`No Rebid is running on ${config.dataDirectory}. Start it with \`npm start\`.`);
  const response = await fetch(`${url}/test/clock`, {
    method,
    ...(body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    throw new CommandFailure(`${url} does not respond.`, { cause });
  });
  if (response.ok) return response.json();
  const failure = z.object({ message: z.string(), issues: z.array(z.object({ message: z.string() })).optional() });
  const { message, issues } = failure.parse(await response.json());
  if (response.status === 404) {
    throw new CommandFailure("This service has no test clock: its database or its payment processor is not embedded.");
  }
  throw new CommandFailure(issues?.map((issue) => issue.message).join("\n") ?? message);
}

const readable = (timestamp: string) => `${timestamp.slice(0, 10)} ${timestamp.slice(11, 19)} UTC`;

function printClock({ now, realNow, aheadSeconds }: TestClock): void {
  const ahead = aheadSeconds < 1 ? "the real time" : `${formatDuration(aheadSeconds)} ahead of ${readable(realNow)}`;
  console.log(`It is ${bold(readable(now))} ${dim(`(${ahead})`)}`);
}

async function show(): Promise<void> {
  printClock(z.object({ clock: TestClock }).parse(await call("GET")).clock);
}

/** What of a kind is called when it is listed, after its number. */
const kinds: Record<ClockAdvance["due"][number]["kind"], string> = {
  deliveriesToAccept: "deliveries to accept",
  deliveriesToCheck: "deliveries to judge",
  tasksToExpire: "tasks to expire",
  roundsToEnd: "rounds of changes to end",
  agreementsToEnd: "agreements to end",
  suspendedUsers: "suspended users to wind down",
  processorEvents: "events of the payment processor to apply",
  topups: "top-ups to check",
  payouts: "payouts to advance",
  events: "events to hand on",
  webhookDeliveries: "webhook deliveries to send",
  jobs: "jobs to run",
  paymentProcessor: "steps of the payment processor to take",
};

async function advance(duration: string): Promise<number> {
  const result = ClockAdvance.parse(await call("POST", { advance: duration }));
  printClock(result.clock);
  const happened = [
    ...result.events.map(({ type, count }): [number, string] => [count, type]),
    ...(result.webhookAttempts > 0 ? [[result.webhookAttempts, "requests to webhooks"] as [number, string]] : []),
  ];
  for (const [count, what] of happened) console.log(`${String(count).padStart(6)}  ${what}`);
  if (happened.length === 0) console.log(dim("        Nothing fell due."));
  if (result.scheduledJobs.length > 0) console.log(dim(`        Regular jobs: ${result.scheduledJobs.join(", ")}`));
  if (result.settled) return 0;
  console.log("\nStill due, and being retried:");
  for (const { kind, count } of result.due) console.log(`${String(count).padStart(6)}  ${kinds[kind]}`);
  return 1;
}

const parse = withArguments({ options: {}, maxPositionals: 2 }, ({ positionals: [action, duration] }) => {
  if (action === undefined) return show;
  if (action !== "advance") throw new UsageError(`Unknown subcommand: ${action}. The subcommand is: advance.`);
  if (duration === undefined) throw new UsageError("DURATION is required, for example 49h.");
  if (!Duration.safeParse(duration).success || parseDuration(duration) === null) {
    throw new UsageError(`DURATION must be a length of time such as 49h, 90m or 2d12h, not "${duration}".`);
  }
  return () => advance(duration);
});

if (import.meta.main) await runCommand({ usage, parse });
