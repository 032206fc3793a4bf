import type { Logger } from "pino";
import type { Verdict } from "../../schemas/checkResult.ts";
import { openBoundedThread } from "../boundedThread.ts";
import type { Content, ContentCheck } from "./judgeContent.ts";
import { faulty } from "./verdict.ts";

/** For the thread: judge this file, or without one say whether the check can be used at all. */
export interface JudgeTask {
  check: ContentCheck;
  file: Content | null;
}

/** Of the processor. 10 MB of text, JSON or CSV take well below 1 s. */
const CPU_MS = 3_000;
/** 10 MB of JSON become up to 200 MB of objects. */
const MAX_HEAP_MB = 384;

/** Judges files from strangers by rules from strangers. */
export interface Judge {
  /** Never throws: what takes more than its bounds of CPU time and memory is an `error`. */
  judge(check: ContentCheck, file: Content): Promise<Verdict>;
  /** Why a check can judge nothing; null if it can. */
  faultOf(check: ContentCheck): Promise<string | null>;
  close(): Promise<void>;
}

interface JudgeOptions {
  log: Pick<Logger, "warn">;
  cpuMs?: number;
  program?: URL;
}

/** Judges in a thread of its own, one check at a time. */
export function openJudge({
  log,
  cpuMs = CPU_MS,
  program = new URL("./thread.ts", import.meta.url),
}: JudgeOptions): Judge {
  const bounds = { cpuMs, maxHeapMb: MAX_HEAP_MB };
  const thread = openBoundedThread<JudgeTask, unknown>({ log, program, ...bounds });
  const ask = async <Answer>(task: JudgeTask, otherwise: Answer): Promise<Answer> => {
    try {
      return (await thread.run(task)) as Answer; // the thread's program answers each task so
    } catch (error) {
      log.warn({ error, kind: task.check.kind, bytes: task.file?.bytes }, "a check could not be carried out");
      return otherwise;
    }
  };
  return {
    judge: (check, file) =>
      ask<Verdict>({ check, file }, faulty("The check takes too much time or memory on this file.")),
    faultOf: (check) => ask<string | null>({ check, file: null }, "It takes too much time or memory."),
    close: thread.close,
  };
}
