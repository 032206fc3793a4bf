import { type Connection, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { FreeLanes } from "./lanes.ts";
import type { StoredEvent } from "./payload.ts";
import type { Attempt } from "./retries.ts";

/** A delivery that a worker has leased: nobody else takes it before `leasedUntil`. */
export interface Claimed {
  id: string;
  endpointId: string;
  ownerId: string;
  eventId: string;
  attemptsLeft: number;
  leasedUntil: string;
  url: string;
  signingSecret: string;
  /** False when, after the event was fanned out, the endpoint was switched off or deleted, or its owner suspended. */
  active: boolean;
}

export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** Retries that join their lanes at once, at most. */
const PROMOTE_BATCH = 1_000;

/** Puts the retries whose time has come into their endpoints' lanes. Others are not looked at, however many wait. */
export async function promoteDueRetries(connection: Connection, now: Date): Promise<void> {
  const wake = sql`
    UPDATE webhook_deliveries SET waiting = false WHERE id IN (
      SELECT id FROM webhook_deliveries WHERE waiting AND due_at <= ${now.toISOString()}::timestamptz
      ORDER BY due_at LIMIT ${PROMOTE_BATCH} FOR UPDATE SKIP LOCKED)`;
  await connection.query(wake, { plan: "fresh" });
}

/**
 * Leases due deliveries, endpoint by endpoint after `afterEndpoint`, at most as many of each as `lanes` allows.
 *
 * Oldest first over all endpoints would have to step over the whole backlog of a dead endpoint at each call. So the
 * recursive part hops from endpoint to endpoint through the index (one probe each, and only as far as `limit` needs),
 * and takes from each the first few. Taking turns is the caller's, by `afterEndpoint`. When only some endpoints may get
 * anything, these are asked and the others are not.
 */
export function claimDue(
  connection: Connection,
  options: { limit: number; lanes: FreeLanes; afterEndpoint: string; now: Date; leaseSeconds: number },
): Promise<Claimed[]> {
  const now = options.now.toISOString();
  const leasedUntil = new Date(options.now.getTime() + options.leaseSeconds * 1000).toISOString();
  const { listed, others } = options.lanes;
  const free = sql`${JSON.stringify(listed)}::jsonb`;
  const allLanes = sql`
    (SELECT endpoint_id FROM webhook_deliveries
     WHERE status = 'pending' AND NOT waiting AND endpoint_id > ${options.afterEndpoint}::uuid ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint_id FROM webhook_deliveries d
            WHERE d.status = 'pending' AND NOT d.waiting AND d.endpoint_id > lane.endpoint_id ORDER BY d.endpoint_id LIMIT 1)
    FROM lane WHERE lane.endpoint_id IS NOT NULL`;
  const listedLanes = sql`
    SELECT key::uuid FROM jsonb_each(${free}) WHERE key::uuid > ${options.afterEndpoint}::uuid ORDER BY key::uuid`;
  const claim = sql`
    WITH RECURSIVE lane (endpoint_id) AS (${others > 0 ? allLanes : listedLanes}), due AS MATERIALIZED (
      SELECT picked.id FROM lane CROSS JOIN LATERAL (
        SELECT d.id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND NOT d.waiting AND d.endpoint_id = lane.endpoint_id
          AND d.leased_until <= ${now}::timestamptz
        ORDER BY d.due_at
        LIMIT coalesce((${free} ->> lane.endpoint_id::text)::int, ${others}::int)
        FOR UPDATE SKIP LOCKED
      ) picked
      LIMIT ${options.limit}
    )
    UPDATE webhook_deliveries d SET leased_until = ${leasedUntil}::timestamptz
    FROM due, webhook_endpoints e, users u WHERE d.id = due.id AND e.id = d.endpoint_id AND u.id = e.user_id
    RETURNING d.id, d.endpoint_id AS "endpointId", e.user_id AS "ownerId", d.event_id AS "eventId", d.attempts_left AS "attemptsLeft",
              d.leased_until AS "leasedUntil", e.url, e.signing_secret AS "signingSecret",
              e.switched_off_at IS NULL AND e.deleted_at IS NULL AND u.suspended_at IS NULL AS active`;
  // A plan that was made while the queue was empty would read the whole table when it is not.
  return connection.query<Claimed>(claim, { plan: "fresh" });
}

/** Pending deliveries are counted up to here: a longer queue takes longer to count, and is no other news. */
const BACKLOG_COUNTED = 10_000;

/**
 * How much is to be sent, for operators: the number of pending deliveries (up to 10,000), and since when the oldest of
 * those that are due is so; null when none is. It looks at the first of each lane, however long the lanes are.
 */
export async function readBacklog(
  connection: Connection,
  now: Date,
): Promise<{ pending: number; oldestDueAt: string | null }> {
  const backlog = sql`
    WITH RECURSIVE lane AS (
      (SELECT endpoint_id, due_at FROM webhook_deliveries
       WHERE status = 'pending' AND NOT waiting ORDER BY endpoint_id, due_at LIMIT 1)
      UNION ALL
      SELECT next.endpoint_id, next.due_at FROM lane CROSS JOIN LATERAL (
        SELECT d.endpoint_id, d.due_at FROM webhook_deliveries d
        WHERE d.status = 'pending' AND NOT d.waiting AND d.endpoint_id > lane.endpoint_id
        ORDER BY d.endpoint_id, d.due_at LIMIT 1
      ) next
    )
    SELECT
      (SELECT count(*) FROM (
        SELECT FROM webhook_deliveries WHERE status = 'pending' AND NOT waiting
        UNION ALL SELECT FROM webhook_deliveries WHERE waiting
        LIMIT ${BACKLOG_COUNTED}) AS counted) AS pending,
      -- While no worker runs, retries whose time has come still wait.
      least((SELECT min(due_at) FROM lane),
            (SELECT min(due_at) FROM webhook_deliveries WHERE waiting AND due_at <= ${now.toISOString()}::timestamptz)) AS "oldestDueAt"`;
  const [row] = await connection.query<{ pending: number; oldestDueAt: string | null }>(backlog, { plan: "fresh" });
  return row ?? { pending: 0, oldestDueAt: null };
}

export function readEvents(connection: Connection, eventIds: string[]): Promise<StoredEvent[]> {
  return connection.query<StoredEvent>(sql`
    SELECT id, type, created_at AS "createdAt", data FROM events WHERE id = ANY (${eventIds}::uuid[])`);
}

/** What becomes of a claimed delivery. `attempt` is null when none was made, because the endpoint is not active. */
export interface Outcome {
  delivery: Claimed;
  attempt: Attempt | null;
  status: "pending" | "succeeded" | "failed";
  attemptsLeft: number;
  /** When the next attempt is due; null when there is none. */
  dueAt: string | null;
  switchOff: boolean;
}

/** An endpoint is switched off after so many failures in a row over at least so long. Source: decisions.md "Events". */
const FAILURES_UNTIL_OFF = 100;
const FAILING_UNTIL_OFF = "3 days";
/** Replays can go on for ever; a row cannot. */
const ATTEMPTS_KEPT = 100;

/**
 * Writes a batch of outcomes and releases the leases, in the caller's transaction. Lock order, here and wherever both
 * change: endpoints by ascending id, then deliveries.
 *
 * A worker that was so slow that its lease ran out may find that another has taken the delivery meanwhile: its attempt
 * happened and is kept, its success counts, but a failure of its does not disturb the other's schedule. The lease's own
 * end is the token that tells.
 */
export async function complete(tx: Transaction, outcomes: readonly Outcome[]): Promise<void> {
  const off = await countFailures(tx, outcomes);
  const rows = outcomes.map(({ delivery, attempt, status, attemptsLeft, dueAt }) => ({
    id: delivery.id,
    leased_until: delivery.leasedUntil,
    attempts: attempt === null ? [] : [attempt],
    status,
    attempts_left: attemptsLeft,
    due_at: dueAt,
  }));
  const decides = sql`(d.leased_until = r.leased_until OR r.status = 'succeeded')`;
  await tx.query(sql`
    UPDATE webhook_deliveries d
    SET attempts = jsonb_path_query_array(d.attempts || r.attempts, ${`$[last - ${ATTEMPTS_KEPT - 1} to last]`}::jsonpath),
        status = CASE WHEN ${decides} THEN r.status ELSE d.status END,
        attempts_left = CASE WHEN ${decides} THEN r.attempts_left ELSE d.attempts_left END,
        due_at = CASE WHEN ${decides} THEN coalesce(r.due_at, d.due_at) ELSE d.due_at END,
        waiting = CASE WHEN ${decides} THEN r.due_at IS NOT NULL ELSE d.waiting END,
        failed_at = CASE WHEN NOT ${decides} THEN d.failed_at WHEN r.status = 'failed' THEN clock_timestamp() END,
        leased_until = CASE WHEN ${decides} THEN '-infinity' ELSE d.leased_until END
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
         AS r (id uuid, leased_until timestamptz, attempts jsonb, status text, attempts_left int, due_at timestamptz)
    WHERE d.id = r.id`);
  if (off.length > 0) await stopDeliveries(tx, off);
}

/** What is still to be sent to these endpoints is not: it is kept as failed, open to replay. */
export async function stopDeliveries(connection: Connection, endpointIds: string[]): Promise<void> {
  // In two parts, each with its index: without them this would read all that these endpoints were ever sent.
  const ofEndpoints = sql`SELECT id FROM webhook_deliveries WHERE endpoint_id = ANY (${endpointIds}::uuid[])`;
  const stop = sql`
    UPDATE webhook_deliveries
    SET status = 'failed', failed_at = clock_timestamp(), attempts_left = 0, leased_until = '-infinity',
        waiting = false
    WHERE status = 'pending' AND id IN (
      ${ofEndpoints} AND status = 'pending' AND NOT waiting UNION ALL ${ofEndpoints} AND waiting)`;
  await connection.query(stop, { plan: "fresh" });
}

interface Streak {
  id: string;
  /** Some attempt of the batch succeeded, and what failed before it no longer counts. */
  reset: boolean;
  failures: number;
  first_failure_at: string | null;
  last_failure_at: string | null;
  off: boolean;
}

/** Carries each endpoint's failures in a row on, and gives the endpoints that are switched off. A sound one's row is not written. */
async function countFailures(tx: Transaction, outcomes: readonly Outcome[]): Promise<string[]> {
  const streaks = new Map<string, Streak>();
  for (const { delivery, attempt, status, switchOff } of outcomes) {
    if (attempt === null) continue;
    const id = delivery.endpointId;
    const before = streaks.get(id) ?? {
      id,
      reset: false,
      failures: 0,
      first_failure_at: null,
      last_failure_at: null,
      off: false,
    };
    streaks.set(
      id,
      status === "succeeded"
        ? { ...before, reset: true, failures: 0, first_failure_at: null, last_failure_at: null }
        : {
            ...before,
            failures: before.failures + 1,
            first_failure_at: before.first_failure_at ?? attempt.attemptedAt,
            last_failure_at: attempt.attemptedAt,
            off: before.off || switchOff,
          },
    );
  }
  const failing = [...streaks.values()].filter(({ failures }) => failures > 0).map(({ id }) => id);
  const failures = sql`(CASE WHEN r.reset THEN 0 ELSE e.failures_in_row END + r.failures)`;
  const since = sql`(CASE WHEN r.reset OR e.failing_since IS NULL THEN r.first_failure_at ELSE e.failing_since END)`;
  const changed = await tx.query<{ id: string; isOff: boolean }>(sql`
    WITH locked AS (
      SELECT id FROM webhook_endpoints
      WHERE id = ANY (${[...streaks.keys()]}::uuid[]) AND (id = ANY (${failing}::uuid[]) OR failures_in_row > 0)
      ORDER BY id FOR NO KEY UPDATE)
    UPDATE webhook_endpoints e
    SET failures_in_row = ${failures}, failing_since = ${since},
        switched_off_at = CASE
          WHEN r.off OR (${failures} >= ${FAILURES_UNTIL_OFF} AND r.last_failure_at - ${since} >= ${FAILING_UNTIL_OFF}::interval)
          THEN coalesce(e.switched_off_at, r.last_failure_at) ELSE e.switched_off_at END
    FROM locked JOIN jsonb_to_recordset(${JSON.stringify([...streaks.values()])}::jsonb)
         AS r (id uuid, reset boolean, failures int, first_failure_at timestamptz, last_failure_at timestamptz, off boolean)
         USING (id)
    WHERE e.id = locked.id
    RETURNING e.id, e.switched_off_at IS NOT NULL AS "isOff"`);
  return changed.filter(({ isOff }) => isOff).map(({ id }) => id);
}
