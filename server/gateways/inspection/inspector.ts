import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { type Inspection, nothingKnown } from "./inspection.ts";
import type { FileParts } from "./partialFile.ts";

/** How much of a file is read: most formats state everything within it, and memory does not depend on the file. */
export const START_BYTES = 768 * 1024;
/** Some formats state their duration at the end: MP4 that was not prepared for streaming, and Ogg. */
export const END_BYTES = 256 * 1024;

/** Of the processor, so that a busy machine fails no honest file: those take milliseconds. Starting the thread does not count. */
const PROCESSOR_MS = 1_000;
const LOOK_INTERVAL_MS = 50;
const MAX_HEAP_MB = 64;

/** Inspects files from strangers. */
export interface Inspector {
  /** Never throws: a file that cannot be inspected within the bounds of processor time and memory is `nothingKnown`. */
  inspect(parts: FileParts): Promise<Inspection>;
  close(): Promise<void>;
}

interface InspectorOptions {
  log: Pick<Logger, "warn">;
  /** How much of the processor's time a file may take. */
  processorMs?: number;
  /** The thread's program. Another one stands for a parser that misbehaves. */
  program?: URL;
}

/**
 * Parsing runs in a thread of its own, one file at a time, so that a file that makes a parser run forever, or use too much
 * memory, ends that thread and nothing else. The thread is started by the first file and again after such an end.
 */
export function openInspector({
  log,
  processorMs = PROCESSOR_MS,
  program = new URL("./thread.ts", import.meta.url),
}: InspectorOptions): Inspector {
  let thread: Worker | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  async function startThread(): Promise<Worker> {
    const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
    const started = new Worker(program, { resourceLimits, execArgv: [], env: {} });
    // Without a listener, an error between two files would end the process.
    started.on("error", (error) => log.warn({ error }, "the inspecting thread failed"));
    started.on("exit", () => {
      if (thread === started) thread = null;
    });
    // It must not keep a process alive whose work is done.
    started.unref();
    await once(started, "message");
    return started;
  }

  async function inspectNow(parts: FileParts): Promise<Inspection> {
    try {
      thread ??= await startThread();
      return await answerOf(thread, parts, processorMs);
    } catch (error) {
      log.warn({ error, bytes: parts.bytes }, "a file could not be inspected");
      const failed = thread;
      thread = null;
      await failed?.terminate();
      return nothingKnown;
    }
  }

  return {
    inspect(parts) {
      const inspected = turn.then(() => inspectNow(parts));
      turn = inspected;
      return inspected;
    },
    async close() {
      await turn;
      await thread?.terminate();
      thread = null;
    },
  };
}

async function processorTimeOf(thread: Worker): Promise<number> {
  const { user, system } = await thread.cpuUsage();
  return (user + system) / 1_000;
}

/** Throws when the thread fails, ends, or has used up its time of the processor. */
async function answerOf(thread: Worker, parts: FileParts, processorMs: number): Promise<Inspection> {
  const { promise, resolve, reject } = Promise.withResolvers<Inspection>();
  const endMs = (await processorTimeOf(thread)) + processorMs;
  const look = async () => {
    if ((await processorTimeOf(thread)) > endMs) reject(new Error("the inspection took too much of the processor"));
  };
  // An ended thread is noticed by its own event.
  const timer = setInterval(() => look().catch(() => undefined), LOOK_INTERVAL_MS);
  const ended = () => reject(new Error("the inspecting thread has ended"));
  thread.once("message", resolve).once("error", reject).once("exit", ended);
  thread.postMessage(parts);
  return promise.finally(() => {
    clearInterval(timer);
    thread.off("message", resolve).off("error", reject).off("exit", ended);
  });
}
