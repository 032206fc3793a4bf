import { sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { Attempt } from "./retries.ts";

/**
 * Whether a receiving host (`webhook_hosts h`) has answered anybody with 2xx, so that it is a receiver of events and not the
 * victim of a user who registered its address.
 */
export const isProven = sql`(h.answered_at > '-infinity')`;

interface AnsweredDelivery {
  delivery: { host: string; provesHost: boolean };
  attempt: Attempt | null;
  status: "pending" | "succeeded" | "failed";
}

/** Records the first 2xx of hosts that had not answered anybody yet. */
export async function recordProofs(tx: Transaction, outcomes: readonly AnsweredDelivery[]): Promise<void> {
  const answers = outcomes.flatMap(({ delivery, attempt, status }) =>
    delivery.provesHost && attempt !== null && status === "succeeded"
      ? [{ host: delivery.host, answered_at: attempt.attemptedAt }]
      : [],
  );
  if (answers.length === 0) return;
  await tx.query(sql`
    WITH answers AS (
      SELECT host, min(answered_at) AS answered_at
      FROM jsonb_to_recordset(${JSON.stringify(answers)}::jsonb) AS r (host text, answered_at timestamptz) GROUP BY host
    ), locked AS (
      SELECT h.host FROM webhook_hosts h JOIN answers USING (host) ORDER BY h.host FOR NO KEY UPDATE OF h)
    UPDATE webhook_hosts h SET answered_at = answers.answered_at
    FROM locked JOIN answers USING (host) WHERE h.host = locked.host AND NOT ${isProven}`);
}
