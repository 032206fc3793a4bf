/** The two times of the service; injected, so that a test can skip 48 hours. */
export interface Clock {
  /** The service's time: every deadline, lifetime and record goes by it. The database's `service_now()` agrees with it. */
  now(): Date;
  /**
   * The time outside, for what others compare with their own clocks (signatures, codes of authenticators, what the payment
   * processor remembers), and for leases, which say that a process lives.
   */
  real(): Date;
  /** By how many milliseconds the service's time is ahead of the real one. */
  readonly aheadMs: number;
  /** Calls `listener` whenever the service's time has been moved forward. Returns what ends that. */
  onAdvance(listener: () => void): () => void;
}

/** The machine's clock, which nobody moves. */
export const systemClock: Clock = {
  now: () => new Date(),
  real: () => new Date(),
  aheadMs: 0,
  onAdvance: () => () => {},
};

/** A clock whose service time is ahead of the real one, never by less than before. */
export class MovableClock implements Clock {
  #aheadMs = 0;
  readonly #listeners = new Set<() => void>();

  get aheadMs(): number {
    return this.#aheadMs;
  }

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  real(): Date {
    return new Date();
  }

  onAdvance(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Moves the service's time to this far ahead of the real one; does nothing if it already is that far ahead. */
  moveTo(aheadMs: number): void {
    if (aheadMs <= this.#aheadMs) return;
    this.#aheadMs = aheadMs;
    for (const listener of [...this.#listeners]) listener();
  }
}
