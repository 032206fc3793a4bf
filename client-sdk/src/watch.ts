/** The longest time that a timer can have, 24 days. With a longer one, such as `Infinity`, it would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Ends one request: when the caller's signal is aborted, or when a time-out that was set with `within` has passed. */
export class Watch {
  readonly #controller = new AbortController();
  readonly #callersSignal: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(callersSignal: AbortSignal | undefined) {
    this.#callersSignal = callersSignal;
    if (callersSignal?.aborted) this.#stop();
    callersSignal?.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Sets the time-out, in place of an earlier one. */
  within(milliseconds: number, reason: () => Error): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(reason()), Math.min(milliseconds, MAX_TIMER_MS));
  }

  pause(): void {
    clearTimeout(this.#timer);
  }

  /** To be called when the request is over: the caller's signal may live on for long. */
  end(): void {
    this.pause();
    this.#callersSignal?.removeEventListener("abort", this.#stop);
  }

  readonly #stop = (): void => this.#controller.abort(this.#callersSignal?.reason);
}
