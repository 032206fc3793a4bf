import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import getPort from "get-port";

export interface FreshService {
  /** Resolves to its address once it answers. Rejects when it ends before. */
  ready: Promise<string>;
  /** Stops it, at any time, and deletes its data. */
  stop(): Promise<void>;
}

/** Starts a service without any data, on a free port. */
export async function startFreshService(): Promise<FreshService> {
  const directory = await mkdtemp(join(tmpdir(), "rebid-agents-"));
  const service = spawn(process.execPath, [join(import.meta.dirname, "../../../server/start/main.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
    // Nothing else of this shell's settings: a DATABASE_URL would lead to a service that is not fresh.
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR },
      ...{ DATA_DIR: join(directory, "data"), PORT: String(await getPort()), LOG_LEVEL: "warn" },
    },
  });
  const ended = once(service, "close");
  const stop = async () => {
    service.kill("SIGTERM");
    await ended;
    await rm(directory, { recursive: true, force: true });
  };
  return { ready: readUrl(service.stdout), stop };
}

/** Reads what the service prints until it says that it is ready. */
async function readUrl(output: Readable): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const url = /^Rebid is ready: (.+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    output.resume();
    return url;
  }
  throw new Error("the service did not start; see its message above");
}
