import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import { afterEach } from "vitest";

const root = new URL("../..", import.meta.url).pathname;

export interface ServiceProcess {
  child: ChildProcess;
  /** `http://127.0.0.1:<PORT>`. */
  url: string;
  stdout(): string;
  stderr(): string;
  /** Resolves at the ready line, with the milliseconds since the start; throws when the process ends before it. */
  ready(): Promise<number>;
  /** The exit code, or the signal that ended the process. */
  ended: Promise<number | string>;
  /** Sends the signal and waits for the end; gives what `ended` gives, and the milliseconds that it took. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | string; ms: number }>;
}

/** Real processes of the service, as `npm start` makes them. What still runs after a test is killed. */
export function useProcesses() {
  const processes: ServiceProcess[] = [];
  const directories: string[] = [];

  afterEach(async () => {
    // The one that started last joined the parts of those before it.
    for (const running of processes.splice(0).toReversed()) {
      if (running.child.exitCode === null && running.child.signalCode === null) await running.stop();
    }
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
  });

  return {
    async dataDirectory(): Promise<string> {
      const directory = await mkdtemp(join(tmpdir(), "rebid-service-"));
      directories.push(directory);
      return join(directory, "data");
    },

    /** Starts `node server/start/main.ts`, or another command, with these variables and a free port unless one is given. */
    async start(variables: Record<string, string>, command = [process.execPath, "server/start/main.ts"]) {
      const port = variables.PORT ?? String(await getPort());
      const [file = "", ...parameters] = command;
      const startedAt = performance.now();
      const child = spawn(file, parameters, {
        cwd: root,
        stdio: ["ignore", "pipe", "pipe"],
        // Nothing of the surroundings: a DATABASE_URL of the developer must not get in.
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          RATE_LIMITS: "off",
          SPAM_GUARD: "off",
          LOG_LEVEL: "warn",
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
