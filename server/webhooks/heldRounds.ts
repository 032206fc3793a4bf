import type { Services } from "../services.ts";
import { findHeldHosts, RELEASE_BATCH, releaseHeld, takeHeld } from "./held.ts";
import type { LeasedDelivery } from "./take.ts";

/** Maximum delay until a host's pause is over, or until another worker's proof of it, is noticed. */
const POLL_MS = 200;

interface HeldTaken {
  taken: LeasedDelivery[];
  /** How many deliveries have joined their endpoints' lanes. */
  released: number;
}

/**
 * Visits the hosts that deliveries are held back for, a few in each round, so that each has its turn: releases those of
 * hosts that have proven themselves, and takes one delivery for each host whose pause is over.
 */
export function createHeldRounds({ database, clock }: Pick<Services, "database" | "clock">, leaseSeconds: number) {
  let afterHost = "";
  let nextRoundMs = 0;
  return {
    /** Makes the next round happen at once: a delivery was held back, or a host has proved itself. */
    wake(): void {
      nextRoundMs = 0;
    },

    /** `limit` bounds the hosts visited. With `mayTake` false, deliveries are only released. */
    async next(limit: number, mayTake: boolean): Promise<HeldTaken> {
      if (limit <= 0 || performance.now() < nextRoundMs) return { taken: [], released: 0 };
      const now = clock.real();
      const visited = await findHeldHosts(database, { limit, afterHost, now });
      const proven = visited.filter((host) => host.proven).map(({ host }) => host);
      const released = proven.length === 0 ? 0 : await releaseHeld(database, proven);
      const ready = visited.filter((host) => !host.proven && host.ready).map(({ host }) => host);
      const taken = ready.length === 0 || !mayTake ? [] : await takeHeld(database, { hosts: ready, now, leaseSeconds });
      const reachedEnd = visited.length < limit;
      nextRoundMs = reachedEnd && released < RELEASE_BATCH ? performance.now() + POLL_MS : 0;
      afterHost = reachedEnd ? "" : (visited.at(-1)?.host ?? "");
      return { taken, released };
    },
  };
}
