import { sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { Attempt } from "./retries.ts";

/**
 * A host that answered with 2xx is trusted for this long. A short time costs an honest host nothing: after a quiet hour,
 * its first delivery goes alone, and its answer releases the others. But who points a name that was proven at somebody
 * else's server can flood it no longer than this.
 */
const PROOF_SECONDS = 600;
/** The proof is renewed when half of its time is over, so a busy host's row is written once in five minutes. */
const RENEW_AFTER_SECONDS = PROOF_SECONDS / 2;

const before = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000).toISOString();

/** A host is trusted if its last known 2xx is later than this. */
export const provenSince = (now: Date) => before(now, PROOF_SECONDS);

/** A host's next 2xx is written down if its last known one is not later than this. */
export const renewSince = (now: Date) => before(now, RENEW_AFTER_SECONDS);

interface AnsweredDelivery {
  delivery: { host: string; renewsProof: boolean };
  attempt: Attempt | null;
  status: "pending" | "succeeded" | "failed";
}

/** Records the hosts that answered with 2xx, unless they did so a few minutes ago too. */
export async function recordProofs(tx: Transaction, outcomes: readonly AnsweredDelivery[]): Promise<void> {
  const answers = outcomes.flatMap(({ delivery, attempt, status }) =>
    delivery.renewsProof && attempt !== null && status === "succeeded"
      ? [{ host: delivery.host, answered_at: attempt.attemptedAt }]
      : [],
  );
  if (answers.length === 0) return;
  await tx.query(sql`
    WITH answers AS (
      SELECT host, max(answered_at) AS answered_at
      FROM jsonb_to_recordset(${JSON.stringify(answers)}::jsonb) AS r (host text, answered_at timestamptz) GROUP BY host
    ), locked AS (
      SELECT h.host FROM webhook_hosts h JOIN answers USING (host) ORDER BY h.host FOR NO KEY UPDATE OF h)
    UPDATE webhook_hosts h SET answered_at = greatest(h.answered_at, answers.answered_at)
    FROM locked JOIN answers USING (host) WHERE h.host = locked.host`);
}
