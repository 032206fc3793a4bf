import { type Connection, NIL_UUID, type Sql, sql } from "../store/connection.ts";
import { deliveryLease, enter, stateColumns } from "./deliveryStates.ts";
import { isProven } from "./hostProof.ts";
import { type LeasedDelivery, leasedColumns } from "./take.ts";

/** Pause between two requests to a host that has not answered with 2xx yet: 60 a minute. */
const PAUSE_SECONDS = 1;
/** Maximum number of deliveries released per call. */
export const RELEASE_BATCH = 1_000;

interface HeldHost {
  host: string;
  /** It has answered with 2xx since the deliveries were held back. */
  proven: boolean;
  /** Its next request may be sent now. */
  ready: boolean;
}

/**
 * Returns up to `limit` hosts that deliveries are held back for, in ascending order after `afterHost`. Jumps from host to
 * host in the index, however many deliveries each has.
 */
export function findHeldHosts(
  connection: Connection,
  { limit, afterHost, now }: { limit: number; afterHost: string; now: Date },
): Promise<HeldHost[]> {
  const find = sql`
    WITH RECURSIVE queue (host, position) AS (
      (SELECT held_for, 1 FROM webhook_deliveries WHERE held_for > ${afterHost} ORDER BY held_for LIMIT 1)
      UNION ALL
      SELECT (SELECT d.held_for FROM webhook_deliveries d WHERE d.held_for > queue.host ORDER BY d.held_for LIMIT 1),
             position + 1
      FROM queue WHERE host IS NOT NULL AND position < ${limit}::int
    )
    SELECT h.host, ${isProven} AS proven,
           h.next_request_at <= ${now.toISOString()}::timestamptz AS ready
    FROM queue JOIN webhook_hosts h USING (host) ORDER BY h.host`;
  return connection.query<HeldHost>(find, { plan: "fresh" });
}

/** Moves deliveries for hosts that have proven themselves into their endpoints' lanes. Returns how many. */
export async function releaseHeld(connection: Connection, hosts: readonly string[]): Promise<number> {
  const release = sql`
    UPDATE webhook_deliveries SET ${enter(stateColumns.queued)} WHERE id IN (
      SELECT id FROM webhook_deliveries WHERE held_for = ANY (${hosts}::text[])
      ORDER BY held_for, endpoint_id, due_at LIMIT ${RELEASE_BATCH} FOR UPDATE SKIP LOCKED)
    RETURNING 1`;
  return (await connection.query(release, { plan: "fresh" })).length;
}

/** Moves what is held back for an endpoint into its lane, because the endpoint now has another host. */
export async function releaseEndpoint(connection: Connection, endpointId: string): Promise<void> {
  const release = sql`
    UPDATE webhook_deliveries d SET ${enter(stateColumns.queued)}
    FROM webhook_endpoints e
    WHERE e.id = ${endpointId}::uuid AND d.held_for = e.host AND d.endpoint_id = e.id`;
  await connection.query(release, { plan: "fresh" });
}

/**
 * Leases one delivery that is held back for each of these hosts, unless another one was taken less than a second ago, by
 * whichever worker: the host's row decides, so no number of workers sends more. The host's endpoints take turns, each with
 * its oldest delivery.
 */
export function takeHeld(
  connection: Connection,
  { hosts, now, leaseSeconds }: { hosts: readonly string[]; now: Date; leaseSeconds: number },
): Promise<LeasedDelivery[]> {
  const nextRequestAt = new Date(now.getTime() + PAUSE_SECONDS * 1000).toISOString();
  const nextEndpoint = (after: Sql) => sql`
    (SELECT d.endpoint_id FROM webhook_deliveries d
     WHERE d.held_for = ready.host AND d.endpoint_id > ${after} ORDER BY d.endpoint_id LIMIT 1)`;
  const statement = sql`
    WITH ready AS MATERIALIZED (
      SELECT host, last_endpoint FROM webhook_hosts
      WHERE host = ANY (${hosts}::text[]) AND next_request_at <= ${now.toISOString()}::timestamptz
      ORDER BY host FOR NO KEY UPDATE SKIP LOCKED
    ), turn AS MATERIALIZED (
      SELECT host, coalesce(${nextEndpoint(sql`ready.last_endpoint`)}, ${nextEndpoint(sql`${NIL_UUID}::uuid`)}) AS endpoint_id
      FROM ready
    ), oldest AS MATERIALIZED (
      SELECT turn.host, turn.endpoint_id, picked.id FROM turn CROSS JOIN LATERAL (
        SELECT d.id FROM webhook_deliveries d WHERE d.held_for = turn.host AND d.endpoint_id = turn.endpoint_id
        ORDER BY d.due_at LIMIT 1
      ) picked
    ), paused AS (
      UPDATE webhook_hosts h
      SET next_request_at = ${nextRequestAt}::timestamptz, last_endpoint = oldest.endpoint_id
      FROM oldest WHERE h.host = oldest.host
    )
    UPDATE webhook_deliveries d SET ${enter(stateColumns.leased(deliveryLease(now, leaseSeconds)))}
    FROM oldest, webhook_endpoints e, users u, webhook_hosts h
    -- Unless it has just been released, or stopped.
    WHERE d.id = oldest.id AND d.held_for = oldest.host
      AND e.id = d.endpoint_id AND u.id = e.user_id AND h.host = e.host
    RETURNING ${leasedColumns}`;
  return connection.query<LeasedDelivery>(statement, { plan: "fresh" });
}
