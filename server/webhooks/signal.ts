import { setTimeout as sleep } from "node:timers/promises";

/** Lets a loop wait for a signal or a timeout, whichever comes first. A signal sent while nobody waits is kept. */
export function createSignal() {
  let pending = false;
  let wake = () => {};
  return {
    send(): void {
      pending = true;
      wake();
    },
    async wait(timeoutMs: number): Promise<void> {
      if (!pending) {
        const timer = new AbortController();
        await Promise.race([
          new Promise<void>((resolve) => {
            wake = resolve;
          }),
          sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => {}),
        ]);
        timer.abort();
      }
      pending = false;
    },
  };
}
