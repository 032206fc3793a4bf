import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { configuredBackingServices } from "../backingServices.ts";
import { type Config, readConfig } from "../config.ts";
import { loadEmbedded } from "../embedded.ts";
import { play } from "./demo/play.ts";
import { CommandFailure, runCommand, withArguments } from "./runCommand.ts";
import { bold, dim } from "./terminal.ts";

const usage = `Takes three tasks to their end, as a buyer and two bidders would, and shows the wallets after each step.
Uses the running service, or starts one for the duration of the demo.

Usage:
  npm run demo`;

/** Returns the URL of the running service that the settings describe, or null if none is ready. */
async function findService(config: Config): Promise<string | null> {
  const configured = configuredBackingServices(config) !== null;
  const embedded = configured ? null : (await loadEmbedded()).findServiceUrl(config.dataDirectory);
  const candidates = [embedded, `http://localhost:${config.port}`];
  for (const url of candidates) {
    if (url === null) continue;
    const response = await fetch(`${url}/readyz`).catch(() => null);
    if (response?.ok) return url;
  }
  return null;
}

/** Starts the service in a separate process. `stop` sends it SIGTERM and waits until it has ended. */
async function startService(): Promise<{ url: string; stop(): Promise<void> }> {
  const service = spawn(process.execPath, ["server/start/main.ts"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(service, "exit");
  for await (const line of createInterface({ input: service.stdout })) {
    const url = /^Rebid is ready: (.+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    service.stdout.resume();
    return {
      url,
      async stop() {
        service.kill("SIGTERM");
        await ended;
      },
    };
  }
  throw new CommandFailure("The service did not start; see its message above.");
}

async function demo(): Promise<void> {
  const config = readConfig(process.env);
  console.log(`\n${bold("Rebid")}  a task, from the first cent to the last`);
  const found = await findService(config);
  if (found !== null) {
    console.log(dim(`Using the service at ${found}`));
    return play(found);
  }
  console.log(dim("No service is running; starting one for the demo."));
  const service = await startService();
  try {
    await play(service.url);
  } finally {
    await service.stop();
  }
}

await runCommand({ usage, parse: withArguments({ options: {}, maxPositionals: 0 }, () => demo) });
