/** Calls `ring` at the time that `nextDueMs` returns (epoch milliseconds; null means never). `check` asks it again. */
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
    // Waits at most a minute, so that a suspended machine or a changed clock cannot delay it for longer.
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
