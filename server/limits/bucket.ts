import type { PolicyName } from "./policies.ts";
import { shareOf } from "./policies.ts";

/** What counting one request found. */
export interface Count {
  readonly policy: PolicyName;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly allowed: boolean;
  /** Requests that this caller may still send in the window, as far as this process knows. */
  readonly remaining: number;
  /** Seconds until the window ends, rounded up; at least 1. */
  readonly resetSeconds: number;
}

/** Adds `points` to a caller's counter, which all processes share, and returns its new state. Never rejects. */
export type AddPoints = (key: string, points: number) => Promise<{ points: number; msToReset: number }>;

interface BucketsOptions {
  policy: PolicyName;
  /** Requests of one caller in a window. */
  limit: number;
  windowSeconds: number;
  addPoints: AddPoints;
}

/** What this process knows of one caller's window. */
interface Window {
  endsAtMs: number;
  /** Taken from the shared counter and not used yet. */
  unused: number;
  /** What the shared counter had left when this process last saw it. */
  remaining: number;
  readonly waiting: ((allowed: boolean) => void)[];
}

/**
 * Counts requests by caller in fixed windows. The shared counter only grows within a window, and a process uses only what
 * its own additions took below the limit. So all processes together never allow more than the limit, and once the counter
 * is at the limit, requests are refused without asking it again.
 */
export class Buckets {
  readonly #options: BucketsOptions;
  readonly #windows = new Map<string, Window>();
  #sweepAtMs = 0;

  constructor(options: BucketsOptions) {
    this.#options = options;
  }

  /** Counts one request of the caller. */
  async count(key: string): Promise<Count> {
    const window = this.#windowOf(key);
    const allowed = await this.#take(key, window);
    const { policy, limit, windowSeconds } = this.#options;
    return {
      ...{ policy, limit, windowSeconds, allowed },
      remaining: window.remaining + window.unused,
      resetSeconds: Math.max(1, Math.ceil((window.endsAtMs - Date.now()) / 1000)),
    };
  }

  #windowOf(key: string): Window {
    const nowMs = Date.now();
    this.#sweep(nowMs);
    const known = this.#windows.get(key);
    if (known !== undefined && (known.endsAtMs > nowMs || known.waiting.length > 0)) return known;
    const window: Window = { endsAtMs: 0, unused: 0, remaining: this.#options.limit, waiting: [] };
    this.#windows.set(key, window);
    return window;
  }

  /** Forgets the windows that have ended, once a window. */
  #sweep(nowMs: number): void {
    if (nowMs < this.#sweepAtMs) return;
    this.#sweepAtMs = nowMs + this.#options.windowSeconds * 1000;
    for (const [key, { endsAtMs, waiting }] of this.#windows) {
      if (endsAtMs <= nowMs && waiting.length === 0) this.#windows.delete(key);
    }
  }

  #take(key: string, window: Window): boolean | Promise<boolean> {
    if (window.unused > 0) {
      window.unused -= 1;
      return true;
    }
    if (window.remaining === 0) return false;
    return new Promise((resolve) => {
      window.waiting.push(resolve);
      if (window.waiting.length === 1) void this.#refill(key, window);
    });
  }

  /** Takes from the shared counter what the waiting requests need, in one addition for all of them. */
  async #refill(key: string, window: Window): Promise<void> {
    const { policy, limit, addPoints } = this.#options;
    while (window.waiting.length > 0) {
      const wanted = Math.max(window.waiting.length, shareOf(policy, window.remaining));
      const { points, msToReset } = await addPoints(key, wanted);
      window.endsAtMs = Date.now() + msToReset;
      window.remaining = Math.max(0, limit - points);
      // Of an addition that crossed the limit, only the part below it was there to take.
      let granted = Math.min(wanted, Math.max(0, limit - (points - wanted)));
      const served = window.waiting.splice(0, window.remaining === 0 ? window.waiting.length : granted);
      for (const resolve of served) resolve(granted-- > 0);
      window.unused = Math.max(0, granted);
    }
  }
}
