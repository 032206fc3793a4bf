import { taskStatuses } from "../schemas/task.ts";
import type { Services } from "../services.ts";
import { queryOne, sql } from "../store/connection.ts";

/** How much is going on, for operators. */
export interface Business {
  /** Exact for tasks under way; for those that have ended, what the planner estimates, because they only grow. */
  tasks: { status: string; count: number }[];
  availableCents: number;
  heldCents: number;
  debtCents: number;
  /** Of payouts that are neither paid nor failed. */
  payoutCents: number;
}

const underWay = ["open", "awarded", "delivered", "disputed"];

/** Reads all wallets, and counts the tasks under way: call it once a minute, not for each request. */
export async function readBusiness({ database }: Pick<Services, "database">): Promise<Business> {
  const [counts, estimates, money] = await Promise.all([
    database.query<{ status: string; count: number }>(sql`
      SELECT status, count(*) FROM tasks WHERE status = ANY (${underWay}::text[]) GROUP BY status`),
    database.query<{ status: string; count: number }>(sql`
      SELECT status, round(share * greatest(0, (SELECT reltuples FROM pg_class WHERE oid = 'tasks'::regclass)))::float8 AS count
      FROM pg_stats, unnest(most_common_vals::text::text[], most_common_freqs) AS common (status, share)
      WHERE schemaname = 'public' AND tablename = 'tasks' AND attname = 'status'`),
    queryOne<Omit<Business, "tasks">>(
      database,
      sql`
      SELECT coalesce(sum(available_cents), 0)::float8 AS "availableCents", coalesce(sum(held_cents), 0)::float8 AS "heldCents",
        coalesce(sum(debt_cents), 0)::float8 AS "debtCents",
        (SELECT coalesce(sum(amount_cents), 0)::float8 FROM payouts
         WHERE next_step_at IS NOT NULL AND state NOT IN ('paid', 'failed')) AS "payoutCents"
      FROM wallets`,
    ),
  ]);
  const countOf = (status: string) =>
    (underWay.includes(status) ? counts : estimates).find((row) => row.status === status)?.count ?? 0;
  return { ...money, tasks: taskStatuses.map((status) => ({ status, count: countOf(status) })) };
}
