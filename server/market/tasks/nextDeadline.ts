import type { Services } from "../../services.ts";
import { queryOne, sql } from "../../store/connection.ts";

/** Returns when the clock moves the next task, or ends an agreement, after now; null if it will do neither. */
export async function findNextDeadline({ database, clock, settings }: Services): Promise<Date | null> {
  const now = sql`${clock.now().toISOString()}::timestamptz`;
  const grace = sql`make_interval(secs => ${settings.deliveryGraceSeconds})`;
  const { next } = await queryOne<{ next: string | null }>(
    database,
    sql`
    SELECT least(
      (SELECT min(coalesce(accepts_at, acceptance_deadline_at)) FROM tasks
       WHERE status = 'delivered' AND coalesce(accepts_at, acceptance_deadline_at) > ${now}),
      (SELECT min(delivery_due_at) + ${grace} FROM tasks
       WHERE status = 'awarded' AND delivered_at IS NULL AND delivery_due_at > ${now} - ${grace}),
      (SELECT min(delivery_due_at) FROM tasks
       WHERE status = 'awarded' AND delivered_at IS NOT NULL AND delivery_due_at > ${now}),
      (SELECT min(expires_at) FROM agreements WHERE status = 'pending' AND expires_at > ${now})
    ) AS next`,
  );
  return next === null ? null : new Date(next);
}
