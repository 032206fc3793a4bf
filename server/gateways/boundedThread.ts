import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";

const LOOK_INTERVAL_MS = 50;

/** A thread for work that may run forever or use too much memory. */
export interface BoundedThread<Task, Answer> {
  /** Throws when the task takes more than the bounds of CPU time and memory. Tasks are done one at a time. */
  run(task: Task): Promise<Answer>;
  close(): Promise<void>;
}

interface BoundedThreadOptions {
  log: Pick<Logger, "warn">;
  /** Says "ready", then answers each message with one message. */
  program: URL;
  /** CPU time, so that a busy machine fails no honest task. Starting the thread does not count. */
  cpuMs: number;
  maxHeapMb: number;
}

/**
 * What exceeds the bounds ends the thread and nothing else. The thread is started by the first task and again after such an end.
 */
export function openBoundedThread<Task, Answer>({
  log,
  program,
  cpuMs,
  maxHeapMb,
}: BoundedThreadOptions): BoundedThread<Task, Answer> {
  let thread: Worker | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  async function startThread(): Promise<Worker> {
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
    const started = new Worker(program, { resourceLimits, execArgv: [], env: {} });
    // Without a listener, an error between two tasks would end the process.
    started.on("error", (error) => log.warn({ error }, "a bounded thread failed"));
    started.on("exit", () => {
      if (thread === started) thread = null;
    });
    // It must not keep a process alive whose work is done.
    started.unref();
    await once(started, "message");
    return started;
  }

  async function runNow(task: Task): Promise<Answer> {
    try {
      thread ??= await startThread();
      return await answerOf<Task, Answer>(thread, task, cpuMs);
    } catch (error) {
      const failed = thread;
      thread = null;
      await failed?.terminate();
      throw error;
    }
  }

  return {
    run(task) {
      const answer = turn.then(() => runNow(task));
      turn = answer.catch(() => undefined);
      return answer;
    },
    async close() {
      await turn;
      await thread?.terminate();
      thread = null;
    },
  };
}

async function cpuTimeOf(thread: Worker): Promise<number> {
  const { user, system } = await thread.cpuUsage();
  return (user + system) / 1_000;
}

/** Throws when the thread fails, ends, or has used up its CPU time. */
async function answerOf<Task, Answer>(thread: Worker, task: Task, cpuMs: number): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const endMs = (await cpuTimeOf(thread)) + cpuMs;
  const look = async () => {
    if ((await cpuTimeOf(thread)) > endMs) reject(new Error("the task took too much CPU time"));
  };
  // An ended thread is noticed by its own event.
  const timer = setInterval(() => look().catch(() => undefined), LOOK_INTERVAL_MS);
  const ended = () => reject(new Error("the thread has ended"));
  thread.once("message", resolve).once("error", reject).once("exit", ended);
  thread.postMessage(task);
  return promise.finally(() => {
    clearInterval(timer);
    thread.off("message", resolve).off("error", reject).off("exit", ended);
  });
}
