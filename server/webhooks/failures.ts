import { sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { Attempt } from "./retries.ts";

/**
 * An endpoint is switched off after this many failures in a row over at least this long. Source: docs/contract.md
 * "Events and webhooks".
 */
const FAILURES_UNTIL_OFF = 100;
const FAILING_UNTIL_OFF = "3 days";

interface AttemptOutcome {
  delivery: { endpointId: string };
  attempt: Attempt | null;
  status: "pending" | "succeeded" | "failed";
  /** Switch the endpoint off at once, because it responded with 410. */
  switchOff: boolean;
}

/** The failures in a row of one endpoint within a batch. */
interface Streak {
  id: string;
  /** An attempt of the batch succeeded, so earlier failures no longer count. */
  reset: boolean;
  failures: number;
  first_failure_at: string | null;
  last_failure_at: string | null;
  off: boolean;
}

/**
 * Updates each endpoint's count of failures in a row, and returns the ids of those that are now switched off. The row
 * of an endpoint that had no failures and has none now is not written.
 */
export async function countFailures(tx: Transaction, outcomes: readonly AttemptOutcome[]): Promise<string[]> {
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
