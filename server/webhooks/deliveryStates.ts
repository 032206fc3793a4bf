import { join, type Sql, sql } from "../store/connection.ts";
import { endOf, type Lease, timeOf } from "../store/lease.ts";

/**
 * What becomes of a delivery. It is `queued` in its endpoint's lane until a worker has `leased` it to send it; a lease that
 * ends without an outcome leaves it queued. It is `waiting` for a retry that is not due, and `held` back while its host has not
 * answered. When it is over, it has `succeeded` or `failed`.
 */
export type DeliveryState = "queued" | "leased" | "waiting" | "held" | "succeeded" | "failed";

/** Every way from one state to another. Events are fanned out into the state `queued`. */
export const deliveryTransitions = {
  take: { from: ["queued"], to: "leased" },
  hold: { from: ["queued"], to: "held" },
  release: { from: ["held"], to: "queued" },
  takeHeld: { from: ["held"], to: "leased" },
  succeed: { from: ["leased", "queued", "waiting", "held", "failed"], to: "succeeded" }, // the lease may have ended meanwhile
  fail: { from: ["leased"], to: "failed" },
  retryLater: { from: ["leased"], to: "waiting" },
  promote: { from: ["waiting"], to: "queued" },
  replay: { from: ["queued", "waiting", "succeeded", "failed"], to: "queued" },
  stop: { from: ["queued", "leased", "waiting", "held"], to: "failed" },
} as const satisfies Record<string, { from: readonly DeliveryState[]; to: DeliveryState }>;

/** The columns of `webhook_deliveries` that say the state. No statement writes them but through this file. */
type StateColumns = Record<"status" | "waiting" | "leased_until" | "held_for" | "failed_at", Sql>;

const queued: StateColumns = {
  status: sql`'pending'`,
  waiting: sql`false`,
  leased_until: sql`'-infinity'::timestamptz`,
  held_for: sql`NULL::text`,
  failed_at: sql`NULL::timestamptz`,
};
/** The columns of each state. `leased` says how long, `held` for which host. */
export const stateColumns = {
  queued,
  leased: (lease: Lease): StateColumns => ({ ...queued, leased_until: endOf(lease) }),
  waiting: { ...queued, waiting: sql`true` },
  held: (host: Sql): StateColumns => ({ ...queued, waiting: sql`true`, held_for: host }),
  succeeded: { ...queued, status: sql`'succeeded'` },
  failed: { ...queued, status: sql`'failed'`, failed_at: sql`service_now()` },
};

/** A lease of deliveries from `now`, a real time. It has the table's alias in `take.ts` and `held.ts`. */
export const deliveryLease = (now: Date, seconds: number): Lease => ({
  ...{ table: sql`webhook_deliveries`, column: sql`d.leased_until`, seconds },
  now: timeOf(now),
});

const columnNames = ["status", "waiting", "leased_until", "held_for", "failed_at"] as const;

/** The assignments of an UPDATE that moves deliveries into a state. */
export const enter = (state: StateColumns): Sql =>
  join(
    columnNames.map((name) => sql`${nameOf[name]} = ${state[name]}`),
    ", ",
  );

/** The first of these states whose condition is true; deliveries for which none is stay as they are. */
export function firstOf(cases: readonly { when: Sql; state: StateColumns }[]): StateColumns {
  const pick = (name: keyof StateColumns) => {
    const branches = join(
      cases.map(({ when, state }) => sql`WHEN ${when} THEN ${state[name]}`),
      " ",
    );
    return sql`CASE ${branches} ELSE d.${nameOf[name]} END`;
  };
  return {
    status: pick("status"),
    waiting: pick("waiting"),
    leased_until: pick("leased_until"),
    held_for: pick("held_for"),
    failed_at: pick("failed_at"),
  };
}

const nameOf: StateColumns = {
  status: sql`status`,
  waiting: sql`waiting`,
  leased_until: sql`leased_until`,
  held_for: sql`held_for`,
  failed_at: sql`failed_at`,
};

/** Conditions on `webhook_deliveries d`, as in the indexes: in its endpoint's lane, which is `queued` or `leased`, and the others. */
export const isIn = {
  lane: sql`d.status = 'pending' AND NOT d.waiting`,
  waiting: sql`d.waiting AND d.held_for IS NULL`,
  held: sql`d.held_for IS NOT NULL`,
};
