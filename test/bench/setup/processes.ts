import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { BenchEnvironment } from "./bench.ts";
import type { LifecycleLoad, LifecycleResult } from "./lifecycleLoad.ts";
import type { MixedLoad, MixedLoadResult } from "./mixedLoad.ts";

/** Starts `node <file>` and waits for a line of its output that matches; it is stopped when the bench ends. */
export async function startProcess(
  { onEnd }: Pick<BenchEnvironment, "onEnd">,
  file: string,
  options: { environment?: Record<string, string>; nodeOptions?: string[]; ready: RegExp },
): Promise<ChildProcess> {
  const child = spawn(process.execPath, [...(options.nodeOptions ?? []), file], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    env: { ...process.env, ...options.environment },
  });
  const exit = once(child, "exit");
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  onEnd(async () => {
    process.off("exit", kill);
    kill();
    await exit;
  });
  if (child.stdout === null) throw new Error("stdout is a pipe");
  for await (const line of createInterface({ input: child.stdout })) {
    if (options.ready.test(line)) {
      child.stdout.resume();
      return child;
    }
  }
  throw new Error(`${file} ended before it was ready`);
}

export interface Load {
  port: number;
  method: string;
  /**
   * Path and body may have placeholders, which differ by the request's number: `__task__` becomes the id of a seeded open
   * task, `__page__` the cursor of a page of them, `__entries__` that of a page of the saver's ledger.
   */
  path: string;
  body?: string;
  /** One for each connection; each connection has one request under way at a time. */
  headers: Record<string, string>[];
  /** A header whose value differs for each request. */
  uniqueHeader?: string;
  /** The first request's number. After `modulo`, numbers begin again. */
  first?: number;
  modulo?: number;
  seconds: number;
}

export interface LoadResult {
  requestsPerSecond: number;
  medianMs: number;
  p99Ms: number;
  sent: number;
  bytesPerBody: number;
  /** The number of responses with each status. */
  statuses: Record<string, number>;
  /** The first body of a response that is no success. */
  refusal?: string;
}

/** Starts a process that sends requests; `run` sends one load and returns its figures. */
export async function startLoadGenerator(environment: Pick<BenchEnvironment, "onEnd">) {
  const generator = await startGenerator<Load, LoadResult>(environment, "load.ts");
  return {
    /** Throws when a response is no success. */
    async run(load: Load): Promise<LoadResult> {
      const result = await generator.run(load);
      if (result.refusal === undefined) return result;
      const statuses = JSON.stringify(result.statuses);
      throw new Error(`${load.method} ${load.path} on port ${load.port} answered with ${statuses}: ${result.refusal}`);
    },
  };
}

/** The same for requests of different kinds, at a rate that does not depend on the responses. */
export const startMixedLoadGenerator = (environment: Pick<BenchEnvironment, "onEnd">) =>
  startGenerator<MixedLoad, MixedLoadResult>(environment, "mixedLoad.ts");

/** The same for whole lifecycles. */
export const startLifecycleGenerator = (environment: Pick<BenchEnvironment, "onEnd">) =>
  startGenerator<LifecycleLoad, LifecycleResult>(environment, "lifecycleLoad.ts");

/** Payments from one wallet to another, by this many clients. */
export interface PaymentLoad {
  wallets: number;
  clients: number;
  seconds: number;
}

/** Starts a process that pays; `run` returns its transfers a second. */
export const startPayer = ({ databaseUrl, onEnd }: BenchEnvironment, side: "ours" | "plain") =>
  startGenerator<PaymentLoad, number>({ onEnd }, "payer.ts", { DATABASE_URL: databaseUrl, SIDE: side });

async function startGenerator<Order extends object, Result>(
  environment: Pick<BenchEnvironment, "onEnd">,
  file: string,
  variables: Record<string, string> = {},
): Promise<{ run(load: Order): Promise<Result> }> {
  const child = await startProcess(environment, new URL(file, import.meta.url).pathname, {
    environment: variables,
    ready: /^ready$/,
  });
  return {
    async run(load) {
      const answer = new Promise<Result>((resolve, reject) => {
        const onExit = () => reject(new Error("the load generator ended"));
        child.once("exit", onExit);
        child.once("message", (result: Result) => {
          child.off("exit", onExit);
          resolve(result);
        });
      });
      child.send(load);
      return answer;
    },
  };
}
