/** Calls `ring` when the time of `nextDueMs` (epoch milliseconds, null for never) has come. `check` looks again. */
export class Alarm {
  readonly #nextDueMs: () => number | null;
  readonly #ring: () => void;
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(nowMs: () => number, nextDueMs: () => number | null, ring: () => void) {
    this.#nowMs = nowMs;
    this.#nextDueMs = nextDueMs;
    this.#ring = ring;
  }

  check(): void {
    clearTimeout(this.#timer);
    const dueMs = this.#stopped ? null : this.#nextDueMs();
    if (dueMs === null) return;
    // A minute at most, so that a machine that slept, or a clock that was set, does not make it miss for long.
    const waitMs = Math.min(Math.max(dueMs - this.#nowMs(), 0), 60_000);
    this.#timer = setTimeout(() => {
      this.#ring();
      this.check();
    }, waitMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
