import type { Store } from "./store.ts";

/** The context of every operation in the processor: its state, its URL and its clock. */
export interface World {
  store: Store;
  /** The processor's own URL, without a trailing slash. */
  url: string;
  /** The URL that events are posted to. */
  eventsUrl: string;
  /** The API version, which events name. */
  apiVersion: string;
  /** The service's time, in milliseconds since the epoch. */
  nowMs(): number;
  /** The real time, for signatures and for how long idempotency keys are remembered. */
  realMs(): number;
  /** Duration of each step of a slow process (bank debit, payout, dispute) in milliseconds. At Stripe it is days. */
  stepMs: number;
}

/** The current time in epoch seconds, as Stripe's v1 objects have it. */
export function nowSeconds(world: World): number {
  return Math.floor(world.nowMs() / 1000);
}
