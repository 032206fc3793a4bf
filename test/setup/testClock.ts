import type { Clock } from "../../server/gateways/clock.ts";

/** The system's clock, moved forward by `advance`: 48 hours pass in no time. */
export class TestClock implements Clock {
  #offsetMs = 0;
  /** Tests move both times. */
  readonly aheadMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#offsetMs);
  }

  /** Moved too, so that leases end and authenticators show their next code. */
  real(): Date {
    return this.now();
  }

  onAdvance(): () => void {
    return () => {};
  }

  advance(seconds: number): void {
    this.#offsetMs += seconds * 1000;
  }
}

/** A clock that shows what `now` returns, as both times. */
export function clockOf(now: () => Date): Clock {
  return { now, real: now, aheadMs: 0, onAdvance: () => () => {} };
}
