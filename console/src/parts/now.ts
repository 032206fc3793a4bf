import { useSyncExternalStore } from "react";

/** One timer for all times on the page. */
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const watchers = new Set<() => void>();

function watch(watcher: () => void) {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of watchers) each();
  }, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time in milliseconds, rounded down to steps of this many, so that a component renders once a step. */
export function useNow(stepMs: number): number {
  const read = () => Math.floor(now / stepMs) * stepMs;
  return useSyncExternalStore(watch, read);
}
