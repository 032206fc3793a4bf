import { crc32 } from "node:zlib";
import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import type { Connection } from "./connection.ts";
import { isDatabaseUnavailable } from "./databaseErrors.ts";
import { Standby } from "./standby.ts";
import { type Position, primaryPosition } from "./walPositions.ts";

/** What to read, and where. */
export interface PublicRead<Result> {
  /** What makes two reads the same one; the later of them never shows less. */
  page: string;
  /** The time after which the page has nothing. */
  cursor?: string | undefined;
  /** Only reads, and may run twice. */
  work(connection: Connection): Promise<Result>;
}

/** Reads that anybody may make, on a standby if one fits. */
export interface PublicReads {
  read<Result>(read: PublicRead<Result>): Promise<Result>;
  /** For each standby, the time since it last had replayed what the primary had written a look before. */
  behindSeconds(): number[];
  stop(): Promise<void>;
}

export const LOOK_MS = 1_000;
/** Standbys that were last looked at longer ago than this are not used. */
const STALE_MS = 2 * LOOK_MS;
/** How long a read waits for a standby to replay what an earlier read of its page has shown; usually it has. */
const CATCH_UP_MS = 50;
/** How long a standby may take to replay what earlier answers have shown before it gets pages: as far as it may be behind. */
const SETTLE_MS = LOOK_MS;

/** Everything on the primary. */
export const primaryReads = (primary: Connection): PublicReads => ({
  read: ({ work }) => work(primary),
  behindSeconds: () => [],
  stop: async () => {},
});

/**
 * Spreads reads over all standbys that have replayed, at each look, what the primary had written at the look before.
 *
 * Standbys are not equally far, so each page belongs to one of them, chosen by a hash: no answer for a page is older than an
 * earlier one. A page moves to the primary at any time, because nobody is further. It moves to a standby only when that has
 * replayed what earlier answers can have shown: for all pages, what the primary had written when their distribution began to
 * change, and for a page that was answered later, or on the primary, what it had written after that answer.
 *
 * Processes that see the same standbys distribute alike. When a standby is lost or comes back, they differ until each has looked.
 */
export class StandbyReads implements PublicReads {
  readonly #primary: Connection;
  readonly #standbys: readonly Standby[];
  readonly #log: Logger;
  /** Among whom the pages are distributed. Null is the primary, in the place of a standby that does not fit any more. */
  #seats: readonly (Standby | null)[] = [];
  /** How often the distribution has changed. */
  #changes = 0;
  #isChanging = false;
  /** By page, up to where a standby must have replayed before it may answer. */
  readonly #shown = new Map<string, bigint>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #last: Position | null = null;
  /** Every standby with a seat has what was committed by then. */
  #reachedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #hasStopped = false;

  constructor(primary: Connection, standbys: readonly Connection[], log: Logger) {
    this.#primary = primary;
    this.#standbys = standbys.map((standby) => new Standby(standby));
    this.#log = log;
  }

  /** Looks at the standbys once a second from now on. */
  start(): this {
    const again = () => {
      const startedAtMs = performance.now();
      this.#looking = this.look().finally(() => {
        const pauseMs = Math.max(0, startedAtMs + LOOK_MS - performance.now());
        if (!this.#hasStopped) this.#timer = setTimeout(again, pauseMs).unref();
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

  async read<Result>(read: PublicRead<Result>): Promise<Result> {
    if (performance.now() - this.#lookedAtMs > STALE_MS) this.#seats = [];
    const changes = this.#changes;
    try {
      return await this.#readFrom(this.#seatOf(read.page), read);
    } finally {
      // What ends while pages move, or began before, may show more than the page's next standby has.
      if (this.#isChanging || changes !== this.#changes) await this.#note(read.page);
    }
  }

  behindSeconds(): number[] {
    return this.#standbys.map(({ lastFitAtMs }) => (performance.now() - lastFitAtMs) / 1_000);
  }

  /** Looks at the positions once. Never rejects. */
  async look(): Promise<void> {
    try {
      const startedAtMs = performance.now();
      const previous = startedAtMs - this.#lookedAtMs > STALE_MS ? null : this.#last;
      const position = await primaryPosition(this.#primary);
      const required = previous ?? position;
      const fits = await Promise.all(this.#standbys.map((standby) => standby.reaches(required.lsn, 0)));
      const fit = this.#standbys.filter((_, index) => fits[index]);
      for (const standby of fit) standby.lastFitAtMs = startedAtMs;
      this.#seats = this.#seats.map((standby) => (standby !== null && fit.includes(standby) ? standby : null));
      this.#last = position;
      this.#reached(required, startedAtMs);
      if (!isSame(fit, this.#seats)) await this.#distribute(fit);
    } catch {
      this.#seats = [];
      this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    }
  }

  #seatOf(page: string): Standby | null {
    return this.#seats[crc32(page) % this.#seats.length] ?? null;
  }

  /** Distributes the pages anew, among those that have replayed what the answers so far can have shown. */
  async #distribute(fit: readonly Standby[]): Promise<void> {
    this.#isChanging = true;
    try {
      const startedAtMs = performance.now();
      const position = await primaryPosition(this.#primary);
      const reached = await Promise.all(fit.map((standby) => standby.reaches(position.lsn, SETTLE_MS)));
      const seats = fit.filter((_, index) => reached[index]);
      if (isSame(seats, this.#seats)) return;
      this.#seats = seats;
      this.#changes++;
      this.#reached(position, startedAtMs);
      this.#log.info(`public reads go to ${seats.length} of ${this.#standbys.length} standbys`);
    } finally {
      this.#isChanging = false;
    }
  }

  async #readFrom<Result>(standby: Standby | null, read: PublicRead<Result>): Promise<Result> {
    if (standby === null) return read.work(this.#primary);
    if (await this.#mayAnswer(standby, read)) {
      try {
        return await read.work(standby.connection);
      } catch (error) {
        // It does not know what is asked for, has cancelled the read for its replay, or has ended. The primary says what is wrong.
        if (!(error instanceof ApiError)) this.#failed(standby, error);
      }
    }
    try {
      return await read.work(this.#primary);
    } finally {
      await this.#note(read.page);
    }
  }

  /** Whether the standby has replayed what belongs on the page, and what an earlier answer can have shown. */
  async #mayAnswer(standby: Standby, { page, cursor }: PublicRead<unknown>): Promise<boolean> {
    if (cursor !== undefined && Date.parse(cursor) >= this.#reachedAtMs) return false;
    const lsn = this.#shown.get(page);
    return lsn === undefined || standby.reaches(lsn, CATCH_UP_MS);
  }

  /** From now on, only a standby that has replayed what the primary has written by now answers for the page. */
  async #note(page: string): Promise<void> {
    try {
      const { lsn } = await primaryPosition(this.#primary);
      if (lsn > (this.#shown.get(page) ?? -1n)) this.#shown.set(page, lsn);
    } catch {
      this.#seats = [];
    }
  }

  /** Every standby with a seat has replayed this much. */
  #reached({ lsn, at }: Position, lookedAtMs: number): void {
    this.#reachedAtMs = Date.parse(at);
    this.#lookedAtMs = lookedAtMs;
    for (const [page, shown] of this.#shown) if (shown <= lsn) this.#shown.delete(page);
  }

  #failed(standby: Standby, error: unknown): void {
    if (!this.#seats.includes(standby)) return;
    this.#log.warn({ error }, "a standby failed to answer: the primary was asked");
    if (isDatabaseUnavailable(error)) this.#seats = this.#seats.map((seat) => (seat === standby ? null : seat));
  }
}

const isSame = (fit: readonly Standby[], seats: readonly (Standby | null)[]) =>
  fit.length === seats.length && fit.every((standby, index) => standby === seats[index]);
