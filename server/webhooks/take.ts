import { type Connection, sql } from "../store/connection.ts";
import { isFree } from "../store/lease.ts";
import { deliveryLease, enter, firstOf, isIn, stateColumns } from "./deliveryStates.ts";
import { isProven } from "./hostProof.ts";
import type { FreeLanes } from "./lanes.ts";

/** A delivery that a worker has leased: no other worker takes it before `leasedUntil`. */
export interface LeasedDelivery {
  id: string;
  endpointId: string;
  ownerId: string;
  eventId: string;
  attemptsLeft: number;
  leasedUntil: string;
  url: string;
  /** The receiving server, as `host:port`. */
  host: string;
  /** A 2xx is to be recorded, because it would be the first of this host. */
  provesHost: boolean;
  signingSecret: string;
  /** False if the endpoint was switched off or deleted, or its owner suspended, after the event was fanned out. */
  active: boolean;
}

/** Returned by `takeDue`: the delivery was not leased but held back, because its host has not answered yet. */
export interface TakenDelivery extends LeasedDelivery {
  held: boolean;
}

const isActive = sql`e.switched_off_at IS NULL AND e.deleted_at IS NULL AND u.suspended_at IS NULL`;

/** Columns of `webhook_deliveries d`, `webhook_endpoints e`, `users u` and `webhook_hosts h`. */
export const leasedColumns = sql`
  d.id, d.endpoint_id AS "endpointId", e.user_id AS "ownerId", d.event_id AS "eventId", d.attempts_left AS "attemptsLeft",
  d.leased_until AS "leasedUntil", e.url, h.host, NOT ${isProven} AS "provesHost",
  e.signing_secret AS "signingSecret", ${isActive} AS active`;

/** Maximum number of retries promoted per call. */
const PROMOTE_BATCH = 1_000;

/** Moves retries whose time has come into their endpoints' lanes. Does not read retries that are not due. */
export async function promoteDueRetries(connection: Connection, now: Date): Promise<void> {
  const promote = sql`
    UPDATE webhook_deliveries SET ${enter(stateColumns.queued)} WHERE id IN (
      SELECT d.id FROM webhook_deliveries d WHERE ${isIn.waiting} AND d.due_at <= ${now.toISOString()}::timestamptz
      ORDER BY d.due_at LIMIT ${PROMOTE_BATCH} FOR UPDATE SKIP LOCKED)`;
  await connection.query(promote, { plan: "fresh" });
}

/**
 * Leases due deliveries from `now`, a real time, endpoint by endpoint in ascending order after `afterEndpoint`, at most as many for each as
 * `lanes` allows.
 *
 * Taking the oldest over all endpoints would step over the whole backlog of a dead endpoint on every call. Instead the
 * recursive part jumps from endpoint to endpoint in the index (one probe each, and only as far as `limit` requires) and
 * takes the first few of each. With `afterEndpoint`, the caller gives every endpoint its turn. When only the listed
 * endpoints have free slots, only those are read.
 *
 * A delivery to a host that has not answered with 2xx yet is not leased: it leaves its lane and joins the host's queue
 * (`held.ts`), in the same statement, so that a delivery costs no query of its own.
 */
export function takeDue(
  connection: Connection,
  options: { limit: number; lanes: FreeLanes; afterEndpoint: string; now: Date; leaseSeconds: number },
): Promise<TakenDelivery[]> {
  const lease = deliveryLease(options.now, options.leaseSeconds);
  const { listed, others } = options.lanes;
  const free = sql`${JSON.stringify(listed)}::jsonb`;
  const held = stateColumns.held(sql`h.host`);
  const holds = sql`(NOT ${isProven} AND ${isActive})`;
  const allLanes = sql`
    (SELECT d.endpoint_id FROM webhook_deliveries d
     WHERE ${isIn.lane} AND d.endpoint_id > ${options.afterEndpoint}::uuid ORDER BY d.endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint_id FROM webhook_deliveries d
            WHERE ${isIn.lane} AND d.endpoint_id > lane.endpoint_id ORDER BY d.endpoint_id LIMIT 1)
    FROM lane WHERE lane.endpoint_id IS NOT NULL`;
  const listedLanes = sql`
    SELECT key::uuid FROM jsonb_each(${free}) WHERE key::uuid > ${options.afterEndpoint}::uuid ORDER BY key::uuid`;
  const statement = sql`
    WITH RECURSIVE lane (endpoint_id) AS (${others > 0 ? allLanes : listedLanes}), due AS MATERIALIZED (
      SELECT picked.id FROM lane CROSS JOIN LATERAL (
        SELECT d.id FROM webhook_deliveries d
        WHERE ${isIn.lane} AND d.endpoint_id = lane.endpoint_id
          AND ${isFree(lease)}
        ORDER BY d.due_at
        LIMIT coalesce((${free} ->> lane.endpoint_id::text)::int, ${others}::int)
        FOR UPDATE SKIP LOCKED
      ) picked
      LIMIT ${options.limit}
    )
    UPDATE webhook_deliveries d
    SET ${enter(
      firstOf([
        { when: holds, state: held },
        { when: sql`true`, state: stateColumns.leased(lease) },
      ]),
    )}
    FROM due, webhook_endpoints e, users u, webhook_hosts h
    WHERE d.id = due.id AND e.id = d.endpoint_id AND u.id = e.user_id AND h.host = e.host
    RETURNING ${leasedColumns}, d.held_for IS NOT NULL AS held`;
  // A plan made while the queue was empty would scan the whole table once it is not.
  return connection.query<TakenDelivery>(statement, { plan: "fresh" });
}
