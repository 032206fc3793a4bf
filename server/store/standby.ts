import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { replayedPosition } from "./walPositions.ts";

const STEP_MS = 10;
/** A standby that takes longer to say where it is counts as gone. */
const ANSWER_MS = 500;

/** A standby, and how far its replay has come. */
export class Standby {
  readonly connection: Connection;
  /** When it was last looked at and had replayed what it should; its start before that. */
  lastFitAtMs = performance.now();
  /** One question at a time, so that a server that is gone does not collect them. */
  #asked: Promise<bigint | null> | null = null;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** Whether it has replayed the primary's log up to `lsn`, now or within some time. False if it does not answer. */
  async reaches(lsn: bigint, withinMs: number): Promise<boolean> {
    const endsAtMs = performance.now() + withinMs;
    for (;;) {
      const replayed = await Promise.race([this.#replayed(), sleep(ANSWER_MS, null, { ref: false })]);
      if (replayed !== null && replayed >= lsn) return true;
      if (replayed === null || performance.now() + STEP_MS > endsAtMs) return false;
      await sleep(STEP_MS);
    }
  }

  /** An answer that was asked for earlier says less than there is, never more. */
  #replayed(): Promise<bigint | null> {
    this.#asked ??= replayedPosition(this.connection)
      .catch(() => null)
      .finally(() => {
        this.#asked = null;
      });
    return this.#asked;
  }
}
