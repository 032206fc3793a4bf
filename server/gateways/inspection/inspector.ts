import type { Logger } from "pino";
import { openBoundedThread } from "../boundedThread.ts";
import { type Inspection, nothingKnown } from "./inspection.ts";
import type { FileParts } from "./partialFile.ts";

/** How much of a file is read: most formats state everything within it, and memory does not depend on the file. */
export const START_BYTES = 768 * 1024;
/** Some formats state their duration at the end: MP4 that was not prepared for streaming, and Ogg. */
export const END_BYTES = 256 * 1024;

/** Of the processor, so that a busy machine fails no honest file: those take milliseconds. */
const CPU_MS = 1_000;
const MAX_HEAP_MB = 64;

/** Inspects files from strangers. */
export interface Inspector {
  /** Never throws: a file that cannot be inspected within the bounds of CPU time and memory is `nothingKnown`. */
  inspect(parts: FileParts): Promise<Inspection>;
  close(): Promise<void>;
}

interface InspectorOptions {
  log: Pick<Logger, "warn">;
  /** How much CPU time a file may take. */
  cpuMs?: number;
  /** The thread's program. Another one stands for a parser that misbehaves. */
  program?: URL;
}

/**
 * Parsing runs in a thread of its own, one file at a time, so that a file that makes a parser run forever, or use too much
 * memory, ends that thread and nothing else.
 */
export function openInspector({
  log,
  cpuMs = CPU_MS,
  program = new URL("./thread.ts", import.meta.url),
}: InspectorOptions): Inspector {
  const bounds = { cpuMs, maxHeapMb: MAX_HEAP_MB };
  const thread = openBoundedThread<FileParts, Inspection>({ log, program, ...bounds });
  return {
    inspect: (parts) =>
      thread.run(parts).catch((error: unknown) => {
        log.warn({ error, bytes: parts.bytes }, "a file could not be inspected");
        return nothingKnown;
      }),
    close: thread.close,
  };
}
