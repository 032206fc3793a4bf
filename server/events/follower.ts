import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../errors.ts";
import type { Connection } from "../store/connection.ts";
import type { Place } from "./cursor.ts";
import { advanceLog, type LoggedEvent, type NewEvent, type Reader, readTail } from "./log.ts";

/** The end of the log is looked up this often while somebody waits, which is how late an event can be noticed. */
const POLL_INTERVAL_MS = 50;
const PAUSE_AFTER_ERROR_MS = 500;
/** Events that one poll reads. The rest follows with the next one. */
const MAX_TAIL = 500;

/** How many may wait at the same time. Source: docs/contract.md "Limits". */
const defaultLimits = {
  /** Waits and streams of one user. */
  perUser: 50,
  /** Of all users: half the connections of a process, so that the others remain for requests. */
  perProcess: 2_000,
};

export interface FollowerOptions {
  database: Connection;
  log: { warn(fields: object, message: string): void };
  limits?: Partial<typeof defaultLimits>;
}

/** What ended a wait. `behind`: the log has gone on, so read it again. `stopped`: this process is stopping. */
type WaitEnd = "events" | "nothing" | "behind" | "stopped";

export interface WaitResult {
  why: WaitEnd;
  events: LoggedEvent[];
  /** Everything that concerns the reader up to here is in `events`. */
  next: Place;
}

interface Until {
  timeoutMs: number;
  signal: AbortSignal;
}

/** A reader who waits. Has a place of its own among those of its user until `leave`. */
export interface Seat {
  /**
   * Waits for events behind `after`, which is where the reader has read to: until there are some, until the time is over or
   * `signal` says so, or until the process stops. Never rejects.
   */
  wait(after: Place, until: Until): Promise<WaitResult>;
  leave(): void;
}

interface Waiter {
  reader: Reader;
  after: Place;
  found: LoggedEvent[];
  end(why: WaitEnd): void;
}

/**
 * Tells those who wait what is new in the log. However many wait, one process looks up the end of the log, and reads what is
 * new once for all of them; nothing is asked while nobody waits. Waits hold neither a connection nor a turn of their caller.
 */
export class EventFollower {
  readonly #options: FollowerOptions;
  readonly #limits: typeof defaultLimits;
  readonly #seats = new Map<string, number>();
  #seatCount = 0;
  /** Those who wait from `#seen` on, by user. */
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Those who came while the tail was being read, and may have missed what it did not look for. */
  readonly #newcomers = new Set<Waiter>();
  /** Up to here, everybody in `#waiters` knows what concerns them. */
  #seen: Place | null = null;
  #isPolling = false;
  #isStopped = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /** How many wait or have a stream open, for the metrics. */
  get seatCount(): number {
    return this.#seatCount;
  }

  /** Throws `limit_reached` when the user has as many seats as one may have, and `unavailable` when the process has. */
  takeSeat(reader: Reader): Seat {
    const { perUser: limit, perProcess } = this.#limits;
    const taken = this.#seats.get(reader.userId) ?? 0;
    if (taken >= limit) {
      const message = `You already have ${limit} requests that wait for events: let one of them end first.`;
      throw new ApiError("limit_reached", { message, limit });
    }
    if (this.#seatCount >= perProcess) throw new ApiError("unavailable");
    this.#countSeat(reader.userId, 1);
    let hasLeft = false;
    return {
      wait: (after, until) => this.#wait(reader, after, until),
      leave: () => {
        if (!hasLeft) this.#countSeat(reader.userId, -1);
        hasLeft = true;
      },
    };
  }

  /** Ends all waits at once, and those that begin later. */
  stop(): void {
    this.#isStopped = true;
    for (const waiter of this.#all()) waiter.end("stopped");
  }

  #countSeat(userId: string, change: 1 | -1): void {
    const seats = (this.#seats.get(userId) ?? 0) + change;
    if (seats === 0) this.#seats.delete(userId);
    else this.#seats.set(userId, seats);
    this.#seatCount += change;
  }

  #wait(reader: Reader, after: Place, { timeoutMs, signal }: Until): Promise<WaitResult> {
    return new Promise((resolve) => {
      const giveUp = () => waiter.end("nothing");
      const waiter: Waiter = {
        reader,
        after,
        found: [],
        end: (why) => {
          clearTimeout(timeout);
          signal.removeEventListener("abort", giveUp);
          const wasAdmitted = this.#remove(waiter);
          resolve({ why, events: waiter.found, next: wasAdmitted ? later(after, this.#seen) : after });
        },
      };
      const timeout = setTimeout(giveUp, timeoutMs).unref();
      if (this.#isStopped) return waiter.end("stopped");
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      if (this.#isPolling) this.#newcomers.add(waiter);
      else this.#admit(waiter);
      void this.#poll();
    });
  }

  /** Lets a reader wait for what comes after `#seen`, or sends them back to read what came before it. */
  #admit(waiter: Waiter): void {
    this.#seen ??= waiter.after;
    if (waiter.after.epoch !== this.#seen.epoch || waiter.after.position < this.#seen.position) {
      waiter.end("behind");
      return;
    }
    const { userId } = waiter.reader;
    const own = this.#waiters.get(userId) ?? new Set();
    this.#waiters.set(userId, own.add(waiter));
  }

  /** Returns whether the waiter had been admitted, and so knows of everything up to `#seen`. */
  #remove(waiter: Waiter): boolean {
    this.#newcomers.delete(waiter);
    const { userId } = waiter.reader;
    const own = this.#waiters.get(userId);
    const wasAdmitted = own?.delete(waiter) ?? false;
    if (own?.size === 0) this.#waiters.delete(userId);
    return wasAdmitted;
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
        this.#isPolling = true;
        try {
          await this.#readNews();
        } catch (error) {
          this.#options.log.warn({ error }, "the event log could not be followed; trying again");
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
    if (end.epoch !== seen.epoch || end.position < seen.position) {
      // The database is another one than before: everybody has to read again, and learns so there.
      for (const waiter of this.#all()) waiter.end("behind");
      this.#seen = end;
      return;
    }
    if (end.position === seen.position) return;
    const userIds = [...this.#waiters.keys()];
    const news = await readTail(database, { userIds, after: seen.position, end, limit: MAX_TAIL });
    this.#seen = (news.length === MAX_TAIL ? news.at(-1) : undefined) ?? end;
    for (const event of news) {
      for (const waiter of this.#concernedBy(event)) {
        const { after, reader } = waiter;
        if (event.position <= after.position) continue;
        if (reader.types === null || reader.types.has(event.event.type)) waiter.found.push(event);
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
function later(after: Place, seen: Place | null): Place {
  return seen !== null && seen.epoch === after.epoch && seen.position > after.position ? seen : after;
}
