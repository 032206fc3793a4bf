import type { Clock } from "../../server/gateways/clock.ts";

/** The system's clock, moved forward by `advance`: 48 hours pass in no time. */
export class TestClock implements Clock {
  #offsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#offsetMs);
  }

  advance(seconds: number): void {
    this.#offsetMs += seconds * 1000;
  }
}
