import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client, DatabaseError } from "pg";
import { launch, openLog, type Server, settingFlags } from "./program.ts";

export interface LocalPostgres {
  /** Connects to the database `rebid` on 127.0.0.1. Contains the password. */
  url: string;
  /** A fast shutdown, which rolls back open transactions. Resolves when the server has ended; can be called again. */
  stop(): Promise<void>;
  /** Resolves when the server has ended, whether `stop` was called or not. */
  ended: Promise<void>;
}

/** Recovery after a crash replays at most `max_wal_size` (1 GB), which takes seconds on a laptop. */
const START_TIMEOUT_MS = 120_000;

/**
 * After this time a fast shutdown becomes an immediate one, which loses no data but requires recovery at the next
 * start.
 */
const FAST_SHUTDOWN_MS = 5_000;

/**
 * Starts the server and waits until it answers a query.
 *
 * It runs in its own session, so that Ctrl-C does not reach it and we control the order of the shutdown. It is stopped
 * when this process exits.
 * @throws Error with the end of Postgres' output when it does not start
 */
export async function launchServer(server: Server, port: number, url: string): Promise<LocalPostgres> {
  const output = await openLog(server);
  const child = launch(server, "postgres", ["-D", server.cluster, ...settingFlags(server, port)], {
    detached: true,
    stdio: ["ignore", output.handle.fd, output.handle.fd],
  });
  const stopOnExit = () => child.kill("SIGINT");
  let stopping = false;
  let ended = false;
  let failure: Error | undefined;
  const end = new Promise<void>((done) => {
    child.once("error", (error) => {
      failure = error;
      ended = true;
      done();
    });
    child.once("exit", (code, signal) => {
      ended = true;
      process.off("exit", stopOnExit);
      if (!stopping)
        server.log(`Postgres has stopped unexpectedly (${signal ?? `exit code ${code}`}), see ${server.logFile}`);
      done();
    });
  });
  process.on("exit", stopOnExit);
  child.unref(); // A process that does not call `stop` can still exit; then `stopOnExit` stops the server.

  const stop = async () => {
    if (ended) return;
    stopping = true;
    child.ref();
    child.kill("SIGINT");
    const escalation = setTimeout(() => child.kill("SIGQUIT"), FAST_SHUTDOWN_MS);
    await end;
    clearTimeout(escalation);
  };

  try {
    await untilReady(url, () => ended);
    return { url, stop, ended: end };
  } catch (cause) {
    stopping = true;
    await stop();
    const reason = failure?.message ?? (cause instanceof Error ? cause.message : String(cause));
    throw new Error(`Postgres did not start: ${reason}\n${await output.lastLines()}`, { cause });
  } finally {
    await output.handle.close();
  }
}

/** Tries to connect until a query is answered. Retries only if the connection is refused or the server is starting. */
async function untilReady(url: string, hasEnded: () => boolean): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!hasEnded()) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => {}); // If the connection breaks between two steps, the next step fails as well.
    try {
      await client.connect();
      await client.query("SELECT 1");
      return;
    } catch (error) {
      // 57P03: cannot_connect_now
      const isStarting = error instanceof DatabaseError ? error.code === "57P03" : !hasEnded();
      if (!isStarting && !hasEnded()) throw error;
      if (Date.now() > deadline)
        throw new Error(`it did not respond within ${START_TIMEOUT_MS / 1000} s`, { cause: error });
    } finally {
      await client.end().catch(() => {});
    }
    await sleep(5);
  }
  throw new Error("it stopped immediately");
}

/**
 * Stops a server whose parent process was killed. The pid alone does not identify it, because the system may have
 * reused the number, but its command line contains the path of the cluster.
 */
export async function stopOrphan(server: Server): Promise<void> {
  const pidFile = join(server.cluster, "postmaster.pid");
  if (!existsSync(pidFile)) return;
  const [pidLine = "", ...otherLines] = (await readFile(pidFile, "utf8")).split("\n");
  const pid = Number(pidLine);
  const isOrphan = async () => (await commandOf(pid)).includes(server.cluster);
  if (!(await isOrphan())) {
    // Postgres refuses to start while any process has this pid, except its own parent, which is us. The other lines are
    // kept: from them it finds out whether backends of a killed server are still running.
    return writeFile(pidFile, [process.pid, ...otherLines].join("\n"));
  }
  server.log(`Stopping the Postgres that a killed process has left running (pid ${pid})`);
  const began = Date.now();
  let signal: "SIGINT" | "SIGQUIT" = "SIGINT";
  signalProcess(pid, signal);
  while (await isOrphan()) {
    const waitedMs = Date.now() - began;
    if (signal === "SIGINT" && waitedMs > FAST_SHUTDOWN_MS) {
      signal = "SIGQUIT";
      signalProcess(pid, signal);
    }
    if (waitedMs > 2 * FAST_SHUTDOWN_MS)
      throw new Error(`Postgres (pid ${pid}) does not stop. Stop it with kill ${pid}.`);
    await sleep(20);
  }
}

function signalProcess(pid: number, signal: "SIGINT" | "SIGQUIT"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Returns the command line of a process, or an empty string if it does not exist or is a zombie. */
async function commandOf(pid: number): Promise<string> {
  try {
    if (process.platform === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
    return (await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", String(pid)])).stdout;
  } catch {
    return "";
  }
}
