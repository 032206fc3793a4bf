import { type Connection, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { enter, firstOf, isIn, stateColumns } from "./deliveryStates.ts";
import { countFailures } from "./failures.ts";
import { recordProofs } from "./hostProof.ts";
import { latestAttempts } from "./records.ts";
import type { Attempt } from "./retries.ts";
import type { LeasedDelivery } from "./take.ts";

/** The outcome of a taken delivery. `attempt` is null when none was made, because the endpoint is not active. */
export interface Outcome {
  delivery: LeasedDelivery;
  attempt: Attempt | null;
  status: "pending" | "succeeded" | "failed";
  attemptsLeft: number;
  /** When the next attempt is due; null when there is none. */
  dueAt: string | null;
  /** Switch the endpoint off at once, because it responded with 410. */
  switchOff: boolean;
}

/**
 * Writes a batch of outcomes and releases the leases, in the caller's transaction. Lock order, here and wherever
 * endpoints and deliveries are both changed: endpoints by ascending id, then deliveries. Hosts come last.
 *
 * If a lease expires before its outcome is written, another worker may have taken over the delivery. The late attempt
 * is still recorded and a success counts, but a failure does not change the other worker's schedule. `leased_until`
 * serves as the token that tells the two leases apart.
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
  const ended = firstOf([
    { when: sql`r.status = 'succeeded'`, state: stateColumns.succeeded },
    { when: sql`${decides} AND r.status = 'failed'`, state: stateColumns.failed },
    { when: decides, state: stateColumns.waiting },
  ]);
  await tx.query(sql`
    UPDATE webhook_deliveries d
    SET attempts = ${latestAttempts(sql`d.attempts || r.attempts`)},
        attempts_left = CASE WHEN ${decides} THEN r.attempts_left ELSE d.attempts_left END,
        due_at = CASE WHEN ${decides} THEN coalesce(r.due_at, d.due_at) ELSE d.due_at END,
        ${enter(ended)}
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
         AS r (id uuid, leased_until timestamptz, attempts jsonb, status text, attempts_left int, due_at timestamptz)
    WHERE d.id = r.id`);
  if (off.length > 0) await stopDeliveries(tx, off);
  await recordProofs(tx, outcomes);
}

/** Marks the pending deliveries of these endpoints as failed; they can be replayed. */
export async function stopDeliveries(connection: Connection, endpointIds: string[]): Promise<void> {
  // Three parts, each with its own index; otherwise this would read every delivery these endpoints ever had.
  const ofEndpoints = sql`SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = ANY (${endpointIds}::uuid[])`;
  const stop = sql`
    UPDATE webhook_deliveries
    SET attempts_left = 0, ${enter(stateColumns.failed)}
    WHERE status = 'pending' AND id IN (
      ${ofEndpoints} AND ${isIn.lane}
      UNION ALL ${ofEndpoints} AND ${isIn.waiting}
      UNION ALL ${ofEndpoints} AND d.held_for IN (
        SELECT host FROM webhook_endpoints WHERE id = ANY (${endpointIds}::uuid[])))`;
  await connection.query(stop, { plan: "fresh" });
}
