import type { Store } from "./store.ts";

/** What every part of the processor works with. */
export interface World {
  store: Store;
  /** The processor's own address, without a slash at the end. */
  url: string;
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** How long each step of a slow thing takes: a bank debit, a payout on its way, a dispute. Days at Stripe. */
  stepMs: number;
}

/** Stripe's v1 objects count in epoch seconds. */
export function nowSeconds(world: World): number {
  return Math.floor(world.nowMs() / 1000);
}
