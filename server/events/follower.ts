import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../store/connection.ts";
import { type Log, logFailure } from "../store/logFailure.ts";
import type { LogPosition } from "./cursor.ts";
import { advanceLog, isSame, type LoggedEvent, maySee, type NewEvent, type Reader, readTail } from "./log.ts";
import { type SeatLimits, Seats } from "./seats.ts";

/** The end of the log is looked up this often while somebody waits, which is how late an event can be noticed. */
const POLL_INTERVAL_MS = 50;
const PAUSE_AFTER_ERROR_MS = 500;
/** Events that one poll reads. The rest follows with the next one. */
const MAX_TAIL = 500;

export interface FollowerOptions {
  database: Connection;
  log: Log;
  limits?: Partial<SeatLimits>;
}

/** What ended a wait. `behind`: the log has gone on, so read it again. `over`: the seat passed to somebody else, or this process stops. */
type WaitEnd = "events" | "nothing" | "behind" | "over";

export interface WaitResult {
  why: WaitEnd;
  events: LoggedEvent[];
  /** Everything that concerns the reader up to here is in `events`. */
  next: LogPosition;
}

interface Until {
  timeoutMs: number;
  signal: AbortSignal;
}

/** A reader who waits. */
export interface Seat {
  /**
   * Waits for events behind `after`, which is where the reader has read to: until there are some, until the time is over or
   * `signal` says so, or until the seat is over. Never rejects.
   */
  wait(after: LogPosition, until: Until): Promise<WaitResult>;
  leave(): void;
}

interface Waiter {
  reader: Reader;
  after: LogPosition;
  found: LoggedEvent[];
  /** The polls that had succeeded when it was admitted. */
  admittedAfter: number;
  end(why: WaitEnd): void;
}

/**
 * Tells those who wait what is new in the log. However many wait, one process looks up the end of the log, and reads what is
 * new once for all of them; nothing is asked while nobody waits. Waits hold neither a connection nor a turn of their caller.
 */
export class EventFollower {
  readonly #options: FollowerOptions;
  readonly #seats: Seats;
  /** Those who wait from `#seen` on, by user. */
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Those who came while the tail was being read, and may have missed what it did not look for. */
  readonly #newcomers = new Set<Waiter>();
  /** Up to here, everybody in `#waiters` knows what concerns them. */
  #seen: LogPosition | null = null;
  /** How often the database has said that `#seen` is in the log. */
  #polls = 0;
  #isPolling = false;
  #isStopped = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#seats = new Seats(options.limits);
  }

  /** How many wait or have a stream open, for the metrics. */
  get seatCount(): number {
    return this.#seats.count;
  }

  /** Takes a seat for a reader at this address. Throws as `Seats.take` does. */
  takeSeat(reader: Reader, address: string): Seat {
    const passedOn = new AbortController();
    const leave = this.#seats.take({ userId: reader.userId, address }, () => passedOn.abort());
    return { wait: (after, until) => this.#wait(reader, after, { ...until, passedOn: passedOn.signal }), leave };
  }

  /** Ends all waits at once, and those that begin later. */
  stop(): void {
    this.#isStopped = true;
    for (const waiter of this.#all()) waiter.end("over");
  }

  #wait(
    reader: Reader,
    after: LogPosition,
    { timeoutMs, signal, passedOn }: Until & { passedOn: AbortSignal },
  ): Promise<WaitResult> {
    return new Promise((resolve) => {
      const giveUp = () => waiter.end("nothing");
      const giveWay = () => waiter.end("over");
      const waiter: Waiter = {
        reader,
        after,
        found: [],
        admittedAfter: Number.POSITIVE_INFINITY,
        end: (why) => {
          clearTimeout(timeout);
          signal.removeEventListener("abort", giveUp);
          passedOn.removeEventListener("abort", giveWay);
          this.#remove(waiter);
          // What nobody has looked up since may be from before a failover.
          const next = this.#polls > waiter.admittedAfter ? later(after, this.#seen) : after;
          resolve({ why, events: waiter.found, next });
        },
      };
      const timeout = setTimeout(giveUp, timeoutMs).unref();
      if (this.#isStopped || passedOn.aborted) return giveWay();
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      passedOn.addEventListener("abort", giveWay, { once: true });
      if (this.#isPolling) this.#newcomers.add(waiter);
      else this.#admit(waiter);
      void this.#poll();
    });
  }

  /** Lets a reader wait for what comes after `#seen`, or sends them back to read what came before it. */
  #admit(waiter: Waiter): void {
    this.#seen ??= waiter.after;
    if (waiter.after.position < this.#seen.position) {
      waiter.end("behind");
      return;
    }
    const { userId } = waiter.reader;
    const own = this.#waiters.get(userId) ?? new Set();
    this.#waiters.set(userId, own.add(waiter));
    waiter.admittedAfter = this.#polls;
  }

  #remove(waiter: Waiter): void {
    this.#newcomers.delete(waiter);
    const { userId } = waiter.reader;
    const own = this.#waiters.get(userId);
    own?.delete(waiter);
    if (own?.size === 0) this.#waiters.delete(userId);
  }

  *#all(): Generator<Waiter> {
    for (const own of [...this.#waiters.values()]) yield* [...own];
    yield* [...this.#newcomers];
  }

  #running: Promise<void> | null = null;

  /** Polls until nobody waits. */
  async #poll(): Promise<void> {
    if (this.#running !== null) return;
    this.#running = (async () => {
      while (this.#waiters.size + this.#newcomers.size > 0) {
        await sleep(POLL_INTERVAL_MS, undefined, { ref: false });
        // By now the database may be closed.
        if (this.#isStopped) break;
        this.#isPolling = true;
        try {
          await this.#readNews();
        } catch (error) {
          logFailure(this.#options.log, error, {}, "the event log could not be followed; trying again");
          await sleep(PAUSE_AFTER_ERROR_MS, undefined, { ref: false });
        } finally {
          this.#isPolling = false;
        }
        for (const waiter of [...this.#newcomers]) {
          this.#newcomers.delete(waiter);
          this.#admit(waiter);
        }
      }
      // What happens while nobody waits is not followed, so the next one to wait sets the point anew.
      this.#seen = null;
    })();
    await this.#running;
    this.#running = null;
    if (this.#waiters.size + this.#newcomers.size > 0) await this.#poll();
  }

  async #readNews(): Promise<void> {
    const { database } = this.#options;
    const end = await advanceLog(database);
    const seen = this.#seen;
    if (seen === null) return;
    const userIds = [...this.#waiters.keys()];
    const isFurther = end.position > seen.position;
    const news = isFurther ? await readTail(database, { userIds, after: seen, end, limit: MAX_TAIL }) : [];
    if (news === null || (!isFurther && !isSame(seen, end))) {
      // The end of the log was lost with the database that had it: everybody has to read again, and learns so there.
      for (const waiter of this.#all()) waiter.end("behind");
      this.#seen = end;
      return;
    }
    this.#seen = (news.length === MAX_TAIL ? news.at(-1) : undefined) ?? end;
    this.#polls++;
    for (const event of news) {
      for (const waiter of this.#concernedBy(event)) {
        const { after, reader } = waiter;
        if (event.position <= after.position) continue;
        const isWanted = reader.types === null || reader.types.has(event.event.type);
        if (isWanted && maySee(reader, event.event)) waiter.found.push(event);
      }
    }
    for (const waiter of this.#all()) if (waiter.found.length > 0) waiter.end("events");
  }

  *#concernedBy({ recipients }: NewEvent): Generator<Waiter> {
    if (recipients === null) for (const own of this.#waiters.values()) yield* own;
    else for (const userId of new Set(recipients)) yield* this.#waiters.get(userId) ?? [];
  }
}

/** A reader may have read further than the last poll. */
function later(after: LogPosition, seen: LogPosition | null): LogPosition {
  return seen !== null && seen.position > after.position ? seen : after;
}
