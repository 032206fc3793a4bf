import type { Timing } from "./options.ts";

export const realTiming: Timing = {
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, milliseconds);
      signal?.addEventListener("abort", stop, { once: true });
    }),
  random: Math.random,
};
