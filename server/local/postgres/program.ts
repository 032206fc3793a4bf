import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Launch } from "./account.ts";

/** A cluster and how its programs are run. */
export interface Server {
  /** The directory of the cluster. */
  cluster: string;
  logFile: string;
  durable: boolean;
  log: (message: string) => void;
  /** Is called when one of its programs has been started. */
  onLaunch: () => void;
  launch: Launch;
}

export const DATABASE_NAME = "rebid";
export const USER_NAME = "rebid";

/** The command-line flags for the settings of a server and for others. */
export function settingFlags(server: Server, port: number, others: Record<string, string> = {}): string[] {
  const all = { ...settings(server, port), ...others };
  return Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

function settings(server: Server, port: number): Record<string, string> {
  return {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "200",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    shared_buffers: "128MB",
    // For many short queries on a small machine, JIT and parallel plans cost more than they gain. Parallel plans also need
    // more than the 64 MB of /dev/shm that a Docker container has.
    jit: "off",
    max_parallel_workers_per_gather: "0",
    random_page_cost: "1.1",
    // Our passwords are random. More rounds would make them no harder to guess, only each connection a third dearer.
    scram_iterations: "1",
    ...(server.durable ? {} : { fsync: "off", full_page_writes: "off" }),
  };
}

/**
 * Runs a binary until it ends and writes its output to the log file.
 * @throws Error with the end of its output when it fails
 */
export async function run(server: Server, binary: "initdb" | "postgres", options: string[], input = ""): Promise<void> {
  const output = await openLog(server);
  try {
    const child = launch(server, binary, options, { stdio: ["pipe", output.handle.fd, output.handle.fd] });
    const code = await new Promise((done, fail) => {
      child.once("error", fail);
      child.once("exit", (code, signal) => done(code ?? signal));
      child.stdin?.on("error", () => {}); // It ended without reading its input; the exit code is checked below.
      child.stdin?.end(input);
    });
    if (code !== 0) throw new Error(`${binary} failed (${code})\n${await output.lastLines()}`);
  } finally {
    await output.handle.close();
  }
}

/** Starts a binary. */
export function launch(
  { launch: how, onLaunch }: Server,
  binary: string,
  binaryOptions: string[],
  options: { detached?: boolean; stdio: ["ignore" | "pipe", number, number] },
): ChildProcess {
  const [command = "", ...rest] = [...how.wrapper, join(how.binaries, binary), ...binaryOptions];
  const child = spawn(command, rest, {
    ...options,
    ...how.account,
    cwd: "/",
    // LC_ALL keeps the messages in English, because we parse them. Without TZ, initdb searches all time zones.
    env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
  });
  onLaunch();
  return child;
}

/**
 * Opens the log file as our own user, so that Postgres' account needs no access. `lastLines` returns what was added.
 */
export async function openLog(server: Server) {
  const handle = await open(server.logFile, "a+", 0o600);
  const { size } = await handle.stat();
  return {
    handle,
    async lastLines(): Promise<string> {
      const added = (await readFile(server.logFile)).subarray(size).toString("utf8").trimEnd();
      return `${added.split("\n").slice(-20).join("\n")}\n(from ${server.logFile})`;
    },
  };
}
