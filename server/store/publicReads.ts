import type { Logger } from "pino";
import type { Connection } from "./connection.ts";
import { type Position, primaryPosition, replayedPosition } from "./walPositions.ts";

/** Reads that anybody may make, on a standby if one fits. */
export interface PublicReads {
  /** Runs `work`, which only reads, and may run it twice. `cursor` is the time after which its page has nothing. */
  read<Result>(work: (connection: Connection) => Promise<Result>, cursor?: string): Promise<Result>;
  stop(): Promise<void>;
}

export const LOOK_MS = 1_000;
/** A standby that was last looked at longer ago than this is not used. */
const STALE_MS = 2 * LOOK_MS;
const CATCH_UP_MS = 200;
const CATCH_UP_STEP_MS = 10;

const pause = (ms: number) => new Promise<void>((resume) => setTimeout(resume, ms));

/** Everything on the primary. */
export const primaryReads = (primary: Connection): PublicReads => ({
  read: (work) => work(primary),
  stop: async () => {},
});

/**
 * Reads on one of the standbys, as long as it has replayed at each look what the primary had written at the look before.
 * A process stays with one standby. It comes to it from the primary only once the reads there have ended and the standby
 * has replayed all that they can have seen, so that no later answer is older than an earlier one.
 */
export class StandbyReads implements PublicReads {
  readonly #primary: Connection;
  readonly #standbys: readonly Connection[];
  readonly #log: Logger;
  readonly #onPrimary = new Set<Promise<unknown>>();
  #current: Connection | null = null;
  #gate: Promise<void> | null = null;
  #lookedAtMs = 0;
  #last: Position | null = null;
  /** Pages whose cursor is older are read on the standby: it has what was committed by then, and what their readers saw. */
  #reachedAtMs = 0;
  /** The oldest cursor of the pages that were read on the primary since the last look. */
  #askedSinceMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #hasStopped = false;

  constructor(primary: Connection, standbys: readonly Connection[], log: Logger) {
    this.#primary = primary;
    this.#standbys = standbys;
    this.#log = log;
  }

  /** Looks at the standbys once a second from now on. */
  start(): this {
    const again = () => {
      this.#looking = this.look().finally(() => {
        if (!this.#hasStopped) this.#timer = setTimeout(again, LOOK_MS).unref();
      });
    };
    again();
    return this;
  }

  async stop(): Promise<void> {
    this.#hasStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async read<Result>(work: (connection: Connection) => Promise<Result>, cursor?: string): Promise<Result> {
    while (this.#gate !== null) await this.#gate;
    const standby = this.#current;
    if (standby === null || performance.now() - this.#lookedAtMs > STALE_MS) {
      this.#current = null;
      return this.#readOnPrimary(work);
    }
    if (cursor !== undefined && Date.parse(cursor) >= this.#reachedAtMs) {
      return this.#readOnPrimary(work, Date.parse(cursor));
    }
    try {
      return await work(standby);
    } catch (error) {
      // It may have ended, or have cancelled the read for what it had to replay. The primary says what is wrong, if anything.
      if (this.#current === standby) {
        this.#log.warn({ error }, "a standby failed to answer: the primary is asked until it fits again");
        this.#current = null;
      }
      return this.#readOnPrimary(work);
    }
  }

  /** Looks at the positions once. Never rejects. */
  async look(): Promise<void> {
    try {
      const askedSinceMs = this.#askedSinceMs;
      this.#askedSinceMs = Number.POSITIVE_INFINITY;
      const position = await primaryPosition(this.#primary);
      const previous = this.#last;
      this.#last = position;
      if (this.#current !== null && previous !== null) {
        const replayed = await replayedPosition(this.#current).catch(() => null);
        if (replayed === null || replayed < previous.lsn) this.#current = null;
        else this.#reachedAtMs = Math.min(Date.parse(previous.at), askedSinceMs);
      }
      if (this.#current === null) await this.#choose();
      this.#lookedAtMs = performance.now();
    } catch {
      this.#current = null;
    }
  }

  async #choose(): Promise<void> {
    for (const standby of this.#standbys) {
      const replayed = await replayedPosition(standby).catch(() => null);
      if (replayed === null || this.#last === null || replayed < this.#last.lsn) continue;
      const handOver = this.#handOver(standby);
      this.#gate = handOver.catch(() => {});
      try {
        await handOver;
      } finally {
        this.#gate = null;
      }
      if (this.#current !== null) return;
    }
  }

  /** Meanwhile, new reads wait. */
  async #handOver(standby: Connection): Promise<void> {
    const endsAtMs = performance.now() + CATCH_UP_MS;
    await Promise.race([Promise.allSettled(this.#onPrimary), pause(CATCH_UP_MS)]);
    if (this.#onPrimary.size > 0) return;
    const position = await primaryPosition(this.#primary);
    do {
      const replayed = await replayedPosition(standby).catch(() => null);
      if (replayed === null) return;
      if (replayed >= position.lsn) {
        this.#reachedAtMs = Date.parse(position.at);
        this.#current = standby;
        return;
      }
      await pause(CATCH_UP_STEP_MS);
    } while (performance.now() < endsAtMs);
  }

  async #readOnPrimary<Result>(
    work: (connection: Connection) => Promise<Result>,
    cursorMs = Number.POSITIVE_INFINITY,
  ): Promise<Result> {
    const note = () => {
      this.#askedSinceMs = Math.min(this.#askedSinceMs, cursorMs);
    };
    note();
    const running = work(this.#primary);
    this.#onPrimary.add(running);
    try {
      return await running;
    } finally {
      this.#onPrimary.delete(running);
      note();
    }
  }
}
