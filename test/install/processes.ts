import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { lstat, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

interface Where {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** A service that is not ready by then is killed; it takes a few seconds on a quiet machine. */
const START_LIMIT_SECONDS = 90;
/** The service gives itself 9 seconds. npm 10.1 and older do not pass SIGTERM on. */
const STOP_LIMIT_SECONDS = 20;

export interface Started {
  /** Resolves with the seconds from the start to the ready line; rejects when the process ends before it. */
  readonly ready: Promise<number>;
  /** Sends SIGTERM and returns the exit code, or the signal that ended the process: SIGKILL when it took too long. */
  stop(): Promise<number | string>;
}

/**
 * The environment of a shell on this machine: `npm run` puts Node 24 of the checkout on the path and adds variables that
 * describe the checkout. The service's own settings are left out, too.
 */
export function machineEnvironment(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? "").split(delimiter).filter((each) => !each.endsWith("node_modules/.bin"));
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(HOME|USER|LANG|TMPDIR|CI|(https?|no)_proxy|NODE_EXTRA_CA_CERTS|npm_config_(cache|registry|userconfig))$/i.test(
      name,
    ),
  );
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

/** Runs a command and returns its output; rejects with all of it when the exit code is not 0. */
export async function run(command: string, parameters: string[], where: Where): Promise<string> {
  try {
    return (await promisify(execFile)(command, parameters, { ...where, maxBuffer: 64_000_000 })).stdout;
  } catch (error) {
    const output =
      error instanceof Error && "stdout" in error && "stderr" in error ? `${error.stdout}${error.stderr}` : "";
    throw new Error(`${command} ${parameters.join(" ")} failed\n${output}`, { cause: error });
  }
}

/** Starts a service in a process group of its own, so that whatever hangs can be killed together. */
export function startProcess(command: string, parameters: string[], where: Where): Started {
  const startedAt = performance.now();
  const child = spawn(command, parameters, { ...where, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close").then(([code, signal]: (number | string)[]) => code ?? signal ?? "unknown");
  const killAfter = (seconds: number) =>
    setTimeout(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"), seconds * 1000);
  const startLimit = killAfter(START_LIMIT_SECONDS);
  const ready = new Promise<number>((resolve, reject) => {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (!output.includes("Rebid is ready")) return;
      clearTimeout(startLimit);
      resolve(Math.round((performance.now() - startedAt) / 100) / 10);
    });
    ended.then((code) => reject(new Error(`${command} ended with ${code}\n${output}`)), reject);
  });
  ready.catch(() => clearTimeout(startLimit));
  return {
    ready,
    async stop() {
      child.kill("SIGTERM");
      const stopLimit = killAfter(STOP_LIMIT_SECONDS);
      const code = await ended;
      clearTimeout(stopLimit);
      return code;
    },
  };
}

/** The space that a folder takes on disk, in units of 1,000,000 bytes; a file with several names counts once. */
export async function megabytesIn(folder: string): Promise<number> {
  const blocks = new Map<number, number>();
  const cache = join(folder, ".cache"); // What starts and tests have compiled, which nobody installs.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (`${entry.parentPath}/`.startsWith(`${cache}/`)) continue;
    const { ino, blocks: count } = await lstat(join(entry.parentPath, entry.name));
    blocks.set(ino, count);
  }
  return Math.round(([...blocks.values()].reduce((sum, count) => sum + count, 0) * 512) / 1_000_000);
}
