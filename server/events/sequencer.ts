import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../store/connection.ts";
import { type Log, logFailure } from "../store/logFailure.ts";
import { advanceLog } from "./log.ts";

/** Maximum delay until a committed event is numbered, if nobody who follows the log has done it before. */
const POLL_INTERVAL_MS = 50;
const PAUSE_AFTER_ERROR_MS = 500;

interface SequencerOptions {
  database: Connection;
  log: Log;
  /** Called when the log has grown since the last look, whoever has numbered what is new. */
  onGrowth?: () => void;
}

/** Numbers committed events until `stop`. Any number of processes may do so; they take turns. */
export function startSequencer({ database, log, onGrowth }: SequencerOptions): { stop(): Promise<void> } {
  let stopping = false;
  let seen = 0;
  const rounds = (async () => {
    while (!stopping) {
      try {
        const { position } = await advanceLog(database, { waits: false });
        if (position !== seen) onGrowth?.();
        seen = position;
        await sleep(POLL_INTERVAL_MS);
      } catch (error) {
        logFailure(log, error, {}, "numbering events failed; trying again");
        await sleep(PAUSE_AFTER_ERROR_MS);
      }
    }
  })();
  return {
    async stop() {
      stopping = true;
      await rounds;
    },
  };
}
