import { type Sql, sql } from "../store/connection.ts";

/** The checks of who accepted deliveries, for `databaseChecks`. */
export const acceptanceChecks: Record<string, Sql> = {
  "each task that checks accepted had all required checks passed, and no change was asked for": sql`
    SELECT 'task ' || t.id AS subject, 'accepted, with every required check passed' AS expected,
           format('%s at %s, deadline %s, required and passed: %s of %s, changes requested: %s', t.status, t.accepted_at,
                  t.acceptance_deadline_at, f.passed, f.required, a.changes_requested) AS actual
    FROM tasks t
    LEFT JOIN artifacts a ON a.bid_id = t.awarded_bid_id AND a.kind = 'delivery' AND a.superseded_at IS NULL
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE (c ->> 'required')::boolean) AS required,
             count(*) FILTER (WHERE (c ->> 'required')::boolean AND c ->> 'conclusion' = 'passed') AS passed
      FROM jsonb_array_elements(a.checks) AS c) f
    WHERE t.accepted_by = 'checks'
      AND (t.status = 'accepted' AND t.accept_after_minutes IS NOT NULL AND t.accepted_at <= t.acceptance_deadline_at
           AND f.required > 0 AND f.passed = f.required AND NOT a.changes_requested) IS NOT TRUE`,

  "each accepted task says who accepted it, and no other task does": sql`
    SELECT 'task ' || id AS subject, 'accepted by somebody, at a time' AS expected,
           format('%s, accepted by %s at %s', status, accepted_by, accepted_at) AS actual
    FROM tasks
    WHERE (status = 'accepted') <> (accepted_at IS NOT NULL)
       OR (accepted_by IS NOT NULL AND status <> 'accepted')
       OR (accepts_at IS NOT NULL AND status <> 'delivered')`,
};
