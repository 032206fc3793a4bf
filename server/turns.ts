import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./errors.ts";

/** What is infinite if left out: how many run in all, how many wait in all and of one key, and how long. */
interface Limits {
  running?: number;
  waiting?: number;
  waitingPerKey?: number;
  waitMs?: number;
  /** When who gets no turn should ask again, instead of when any `unavailable` says. */
  retryAfterSeconds?: number;
}

interface Asker {
  /** Who shares the turns, such as a user or an address. */
  key: string;
  /** What the turns of a key alternate between, such as the accounts that an address signs in to. */
  part?: string;
  /** How many turns the key has at the same time; the same for each of its askers. */
  perKey?: number;
  /** Ends the wait, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Waits at least this long. */
  delayMs?: number;
}

/** Gives the turn back. */
type Release = () => void;

interface Waiting extends Asker {
  isReady: boolean;
  start(release: Release): void;
  refuse(reason: unknown): void;
}

/**
 * A semaphore that is fair: a few run at the same time, in all and of each key, and the others wait. Turns alternate between
 * keys, and between the parts of a key, so a flood delays everybody else by one turn a round at most. When no place is left
 * to wait, whoever has most waiting loses their newest: a flood displaces itself. Who gets no turn, or waits too long for one,
 * gets the error `unavailable`.
 */
export class Turns {
  readonly #limits: Limits;
  readonly #runningOf = new Map<string, number>();
  #running = 0;
  /** In the order of their turns. */
  #queue: Waiting[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Returns what gives the turn back, or null if there is none now. */
  tryAcquire(asker: Asker): Release | null {
    return this.#mayRun(asker) ? this.#start(asker.key) : null;
  }

  /** Resolves to what gives the turn back. Rejects with `unavailable`, or with the reason of the signal. */
  async acquire(asker: Asker): Promise<Release> {
    const free = asker.delayMs ? null : this.tryAcquire(asker);
    if (free !== null) return free;
    asker.signal?.throwIfAborted();
    this.#makeRoom(asker);
    return this.#wait(asker);
  }

  /** Whether the key may have one more waiting, without displacing anybody. */
  hasRoom(key: string): boolean {
    const { waiting = Infinity, waitingPerKey = Infinity } = this.#limits;
    return this.#queue.length < waiting && this.#queue.filter((each) => each.key === key).length < waitingPerKey;
  }

  /** Runs `work` in a turn. Rejects as `acquire` does, or with what `work` rejects with. */
  async run<Result>(asker: Asker, work: () => Promise<Result>): Promise<Result> {
    const release = await this.acquire(asker);
    try {
      return await work();
    } finally {
      release();
    }
  }

  #mayRun({ key, perKey = Infinity }: Asker): boolean {
    return this.#running < (this.#limits.running ?? Infinity) && (this.#runningOf.get(key) ?? 0) < perKey;
  }

  #start(key: string): Release {
    this.#running++;
    this.#runningOf.set(key, (this.#runningOf.get(key) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#running--;
      const running = (this.#runningOf.get(key) ?? 0) - 1;
      if (running > 0) this.#runningOf.set(key, running);
      else this.#runningOf.delete(key);
      this.#startNext();
    };
  }

  #wait(asker: Asker): Promise<Release> {
    const { signal, delayMs = 0 } = asker;
    const { waitMs } = this.#limits;
    return new Promise((resolve, reject) => {
      const timers: NodeJS.Timeout[] = [];
      const onAbort = () => waiting.refuse(signal?.reason);
      const leave = () => {
        for (const timer of timers) clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        this.#queue = this.#queue.filter((each) => each !== waiting);
      };
      const waiting: Waiting = {
        ...asker,
        isReady: delayMs === 0,
        start: (release) => {
          leave();
          resolve(release);
        },
        refuse: (reason) => {
          leave();
          reject(reason);
        },
      };
      if (delayMs > 0) {
        const ready = () => {
          waiting.isReady = true;
          this.#startNext();
        };
        timers.push(setTimeout(ready, delayMs));
      }
      if (waitMs !== undefined) timers.push(setTimeout(() => waiting.refuse(this.#unavailable()), delayMs + waitMs));
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(waiting);
    });
  }

  #startNext(): void {
    for (;;) {
      const next = this.#queue.find((waiting) => waiting.isReady && this.#mayRun(waiting));
      if (next === undefined) return;
      // Its key goes behind the others, and its part behind the others of the key.
      const rank = ({ key, part }: Asker) => (key !== next.key ? 0 : part !== next.part ? 1 : 2);
      this.#queue.sort((one, other) => rank(one) - rank(other));
      next.start(this.#start(next.key));
    }
  }

  /** Makes sure that there is a place to wait, if necessary by taking somebody else's. Throws `unavailable` if there is none. */
  #makeRoom({ key, part }: Asker): void {
    const { waiting = Infinity, waitingPerKey = Infinity } = this.#limits;
    const own = this.#queue.filter((each) => each.key === key);
    const ofPart = own.filter((each) => each.part === part);
    if (own.length >= waitingPerKey) this.#displace(mostOf(own, "part"), ofPart.length);
    else if (this.#queue.length >= waiting) this.#displace(mostOf(this.#queue, "key"), own.length);
  }

  /** Refuses the newest of these, unless the newcomer then had as many waiting as they, of which `own` do already. */
  #displace(most: Waiting[], own: number): void {
    if (most.length <= own + 1) throw this.#unavailable();
    mostOf(most, "part").at(-1)?.refuse(this.#unavailable());
  }

  #unavailable(): ApiError {
    const { retryAfterSeconds } = this.#limits;
    return new ApiError("unavailable", retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
  }
}

function mostOf(queue: Waiting[], name: "key" | "part"): Waiting[] {
  const groups = Map.groupBy(queue, (waiting) => waiting[name]);
  return [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most), []);
}

/** Waits this long without the turn, so that the caller's other calls go on. */
export type Pause = (milliseconds: number) => Promise<void>;

/** A call that takes a turn. Calls that only read wait for each other, and so do those that may change something. */
interface TurnTaker {
  readonly onlyReads: boolean;
  /** Returns the signal that ends its wait. It is made for those that wait only. */
  readonly left: () => AbortSignal;
}

/** What the calls of one request wait for. */
export interface CallTurns {
  /**
   * Runs `work` as one of the few calls that a caller may have running at the same time; the others wait here and not for a
   * connection, so that one caller cannot take them all. Throws `unavailable` when too many wait, or for too long, and the
   * reason of the signal when it aborts meanwhile.
   */
  run<Result>(call: TurnTaker, work: (pause: Pause) => Promise<Result>): Promise<Result>;
  /** Says that one call only waits from now on, and is not under way. Returns what ends that. */
  idle(): () => void;
}

/** Without HTTP, nobody waits. */
export const unlimitedTurns: CallTurns = {
  run: (_call, work) => work(sleep),
  idle: () => () => {},
};

interface Caller {
  /** The user, or the address of a stranger. */
  readonly name: string;
  /** How many calls of the request there are. */
  readonly calls: number;
  /** How many calls that only read, and come alone, the caller may have running; and of each other kind. */
  readonly reads: number;
  readonly others: number;
}

/**
 * Returns the turns of one request.
 * @param idle says that one of its calls only waits from now on, and returns what ends that
 */
export function turnsOf(turns: Turns, { name, calls, reads, others }: Caller, idle: () => () => void): CallTurns {
  return {
    idle,
    async run({ onlyReads, left }, work) {
      const isLoneRead = onlyReads && calls === 1;
      const perKey = isLoneRead ? reads : others;
      const key = `${isLoneRead ? "reads" : onlyReads ? "batched reads" : "changes"} of ${name}`;
      const wait = async (delayMs: number) => {
        const resume = idle();
        try {
          return await turns.acquire({ key, perKey, delayMs, signal: left() });
        } finally {
          resume();
        }
      };
      let release = turns.tryAcquire({ key, perKey }) ?? (await wait(0));
      const pause = async (delayMs: number) => {
        // Without a place to wait, it keeps its turn.
        if (!turns.hasRoom(key)) return sleepUnless(left(), delayMs);
        const next = wait(delayMs);
        release();
        release = await next;
      };
      try {
        return await work(pause);
      } finally {
        release();
      }
    },
  };
}

/** Sleeps. Throws the signal's reason when it aborts meanwhile. */
async function sleepUnless(signal: AbortSignal, delayMs: number): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
}
