import { setTimeout as sleep } from "node:timers/promises";

/** Lets a loop wait for a signal or a timeout, whichever comes first. A signal that nobody waits for is kept. */
export function createBell() {
  let rung = false;
  let wake = () => {};
  return {
    ring(): void {
      rung = true;
      wake();
    },
    async wait(timeoutMs: number): Promise<void> {
      if (!rung) {
        const timer = new AbortController();
        await Promise.race([
          new Promise<void>((resolve) => {
            wake = resolve;
          }),
          sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => {}),
        ]);
        timer.abort();
      }
      rung = false;
    },
  };
}
