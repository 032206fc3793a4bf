import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, styleText } from "node:util";
import { ConfigError } from "../config.ts";
import { guardedEgress } from "../gateways/egress.ts";
import { EgressFailed } from "../gateways/egressErrors.ts";
import { type EventType, eventTypes } from "../schemas/event.ts";
import { isDatabaseAway } from "../store/databaseErrors.ts";
import { eventBody, type StoredEvent } from "../webhooks/payload.ts";
import { deliveryHeaders, SIGNATURE_HEADER } from "../webhooks/sign.ts";
import { createTail } from "../webhooks/tail.ts";
import { openServices } from "./openServices.ts";

const usage = `Prints the events of the running service as they happen.

  npm run listen -- [--events task.created,bid.received] [--forward-to http://localhost:4242/hook]

--events        only these: ${eventTypes.join(", ")}
--forward-to    also POSTs each to this address, as a webhook would, signed with the secret that is shown`;

const POLL_MS = 250;
const bold = (text: string) => styleText("bold", text);
const dim = (text: string) => styleText("dim", text);

/** What the person at the terminal got wrong. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

interface Command {
  types: readonly EventType[];
  forwardTo: string | null;
}

/** Null when only the usage is asked for. */
function parse(commandLine: string[]): Command | null {
  const { values } = parseArgs({
    args: commandLine,
    options: { events: { type: "string" }, "forward-to": { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help) return null;
  const types = values.events?.split(",").map((name) => {
    const type = eventTypes.find((known) => known === name.trim());
    if (type === undefined) throw new UsageError(`There is no event ${name}; there are: ${eventTypes.join(", ")}.`);
    return type;
  });
  const forwardTo = values["forward-to"];
  return { types: types ?? eventTypes, forwardTo: forwardTo === undefined ? null : addressOf(forwardTo) };
}

/** `localhost:4242/hook` and `4242/hook` mean what they look like. */
function addressOf(text: string): string {
  const url = text.includes("://") ? text : `http://${/^\d+(\/|$)/.test(text) ? `localhost:${text}` : text}`;
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new UsageError(`--forward-to ${text} is no address; try http://localhost:4242/hook.`);
  return url;
}

/** The same at every start on the same installation, so that a receiver's settings last. */
function listeningSecret(sessionSecret: string): string {
  return `whsec_${createHmac("sha256", sessionSecret).update("npm run listen").digest("hex")}`;
}

async function main(): Promise<void> {
  const command = parse(process.argv.slice(2));
  if (command === null) return console.log(usage);
  const { types, forwardTo } = command;
  const { services, close } = await openServices();
  // This address is the developer's own choice, on the developer's own machine.
  const egress = guardedEgress({ allowInsecure: true });
  const secret = listeningSecret(services.settings.sessionSecret);
  const stopped = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());

  const forward = async (event: StoredEvent, url: string): Promise<void> => {
    const body = eventBody(event);
    const timeoutMs = services.settings.webhookTimeoutSeconds * 1000;
    const startedMs = performance.now();
    const result = await egress.post(url, { headers: deliveryHeaders(body, secret, new Date()), body, timeoutMs }).then(
      ({ statusCode }) => styleText(statusCode < 300 ? "green" : "red", String(statusCode)),
      (error: unknown) => {
        if (error instanceof EgressFailed) return styleText("red", error.message);
        throw error;
      },
    );
    const duration = `${Math.round(performance.now() - startedMs)} ms`;
    console.log(`         ${result} ${dim(`from ${url} to ${event.type} ${event.id}, ${duration}`)}`);
  };

  const next = createTail(services.database, types);
  await next();
  console.log(`Listening to ${bold(services.settings.publicUrl)} for ${types.join(", ")}. Ctrl+C ends it.`);
  if (forwardTo !== null) {
    console.log(`Forwarding to ${bold(forwardTo)}; ${SIGNATURE_HEADER} is made with ${bold(secret)}`);
  }
  let away = false;
  while (!stopped.signal.aborted) {
    // A developer restarts the service all the time.
    const events = await next().catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error;
      if (!away) console.log(dim("The service is away; waiting for it."));
      return null;
    });
    away = events === null;
    for (const event of events ?? []) {
      print(event);
      // Not awaited: a receiver that hangs must not hold up what is printed.
      if (forwardTo !== null) void forward(event, forwardTo);
    }
    await sleep(POLL_MS, undefined, { signal: stopped.signal }).catch(() => {});
  }
  await egress.close();
  await close();
}

function print(event: StoredEvent): void {
  const time = new Date(event.createdAt).toTimeString().slice(0, 8);
  console.log(`${dim(time)} ${bold(event.type)} ${dim(event.id)}`);
  console.log(printable(JSON.stringify(event.data, null, 2)).replace(/^/gm, "        "));
}

/** JSON leaves the control characters above ASCII as they are, and a terminal would obey what a user wrote. */
function printable(json: string): string {
  return json.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

main().catch((error: unknown) => {
  const isParse = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  const isPlain = isParse || error instanceof UsageError || error instanceof ConfigError;
  console.error(isPlain ? error.message : error);
  process.exit(1);
});
