import type { Services } from "../services.ts";
import { queryOne, sql } from "../store/connection.ts";

/** What waits to be done, besides deliveries of webhooks. */
export interface Waiting {
  /** Jobs that are due and that no worker has taken yet. */
  jobs: number;
  /** Time since the oldest of them became due. */
  oldestJobSeconds: number;
  /** Jobs that have failed as often as they may, and wait for an operator. */
  failedJobs: number;
  /** Events of the payment processor that are not applied yet. */
  processorEvents: number;
  oldestProcessorEventSeconds: number;
  /** Age of the oldest event that is not numbered yet. */
  eventLogLagSeconds: number;
  /** Tasks that should have been accepted or have expired by the clock more than a minute ago, up to 1,000. */
  overdue: number;
  /** Payouts whose next step is due. */
  payouts: number;
}

/** Counts what waits, for operators. */
export function countWaiting({ database, settings }: Pick<Services, "database" | "settings">): Promise<Waiting> {
  const lateSeconds = 60;
  return queryOne<Waiting>(
    database,
    sql`
    SELECT
      (SELECT count(*) FROM graphile_worker.jobs
        WHERE run_at <= now() AND locked_at IS NULL AND attempts < max_attempts) AS jobs,
      (SELECT coalesce(extract(epoch FROM now() - min(run_at)), 0)::float8 FROM graphile_worker.jobs
        WHERE run_at <= now() AND locked_at IS NULL AND attempts < max_attempts) AS "oldestJobSeconds",
      (SELECT count(*) FROM graphile_worker.jobs WHERE attempts >= max_attempts) AS "failedJobs",
      (SELECT count(*) FROM processor_events WHERE processed_at IS NULL) AS "processorEvents",
      (SELECT coalesce(extract(epoch FROM service_now() - min(received_at)), 0)::float8 FROM processor_events
        WHERE processed_at IS NULL) AS "oldestProcessorEventSeconds",
      (SELECT coalesce(max(extract(epoch FROM service_now() - e.created_at)), 0)::float8
        FROM (SELECT event_id FROM event_log_queue ORDER BY id LIMIT 1) AS oldest JOIN events e ON e.id = oldest.event_id)
        AS "eventLogLagSeconds",
      (SELECT count(*) FROM (SELECT FROM tasks
        WHERE status = 'delivered' AND coalesce(accepts_at, acceptance_deadline_at) < service_now() - make_interval(secs => ${lateSeconds})
        UNION ALL
        SELECT FROM tasks
        WHERE status = 'awarded' AND delivery_due_at < service_now() - make_interval(secs => ${lateSeconds + settings.deliveryGraceSeconds})
        LIMIT 1000) AS late) AS overdue,
      (SELECT count(*) FROM payouts WHERE next_step_at < service_now()) AS payouts`,
  );
}
