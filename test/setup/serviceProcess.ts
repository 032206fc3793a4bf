import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, inject } from "vitest";
import { compileCache } from "./compileCache.ts";
import { copyCluster } from "./copyCluster.ts";
import { unusedPort } from "./unusedPort.ts";

const root = new URL("../..", import.meta.url).pathname;

export interface ServiceProcess {
  child: ChildProcess;
  /** `http://127.0.0.1:<PORT>`. */
  url: string;
  stdout(): string;
  stderr(): string;
  /**
   * Resolves when the process prints that it is ready, to the milliseconds since its start; rejects when it ends
   * before.
   */
  ready(): Promise<number>;
  /** The exit code, or the signal that ended the process. */
  ended: Promise<number | string>;
  /**
   * Sends the signal and waits for the process to end; returns what `ended` resolves to, and how many milliseconds it
   * took.
   */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | string; ms: number }>;
}

/** Real processes of the service, as `npm start` starts them. Those that still run after a test, or after all, are stopped. */
export function useProcesses(after: typeof afterEach = afterEach) {
  const processes: ServiceProcess[] = [];
  const directories: string[] = [];

  after(async () => {
    // The one that started last may use the embedded services of those before it.
    for (const running of processes.splice(0).toReversed()) {
      if (running.child.exitCode === null && running.child.signalCode === null) await running.stop();
    }
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
  });

  /** A data directory that nothing has started on: it does not exist yet. */
  async function dataDirectory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), "rebid-service-"));
    directories.push(directory);
    return join(directory, "data");
  }

  return {
    dataDirectory,

    /** A data directory with a migrated database, where the first start of a service is not what is tested. */
    async preparedDirectory(): Promise<string> {
      const directory = await dataDirectory();
      const prepared = inject("preparedDirectory");
      await mkdir(directory);
      copyCluster(join(prepared, "postgres"), join(directory, "postgres"));
      await copyFile(join(prepared, "local.json"), join(directory, "local.json"));
      return directory;
    },

    /**
     * Starts `node server/start/main.ts`, or another command, with these variables, on a free port unless PORT is
     * given, in this checkout or another.
     */
    async start(
      variables: Record<string, string>,
      command = [process.execPath, "server/start/main.ts"],
      checkout = root,
    ) {
      const port = variables.PORT ?? String(await unusedPort());
      const [file = "", ...parameters] = command;
      const startedAt = performance.now();
      const child = spawn(file, parameters, {
        cwd: checkout,
        stdio: ["ignore", "pipe", "pipe"],
        // Only these are inherited: a developer's own DATABASE_URL must not get in.
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          RATE_LIMITS: "off",
          SPAM_GUARD: "off",
          LOG_LEVEL: "warn",
          ...compileCache,
          ...variables,
          PORT: port,
        },
      });
      const running = follow(child, `http://127.0.0.1:${port}`, startedAt);
      processes.push(running);
      return running;
    },
  };
}

function follow(child: ChildProcess, url: string, startedAt: number): ServiceProcess {
  let stdout = "";
  let stderr = "";
  const ready = Promise.withResolvers<number>();
  ready.promise.catch(() => {}); // a test may not wait for it
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (stdout.includes("Rebid is ready: ")) ready.resolve(performance.now() - startedAt);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code, signal]: (number | string)[]) => code ?? signal ?? "unknown");
  void ended.then((code) => ready.reject(new Error(`the service ended with ${code}\n${stdout}${stderr}`)));
  return {
    child,
    url,
    stdout: () => stdout,
    stderr: () => stderr,
    ready: () => ready.promise,
    ended,
    async stop(signal = "SIGTERM") {
      const began = performance.now();
      child.kill(signal);
      return { code: await ended, ms: performance.now() - began };
    },
  };
}
