import { type Connection, queryOne, sql } from "../store/connection.ts";

/** What waits to be done, besides deliveries of webhooks. */
export interface Waiting {
  /** Jobs that are due and that no worker has taken yet. */
  jobs: number;
  /** Jobs that have failed as often as they may, and wait for an operator. */
  failedJobs: number;
  /** Events of the payment processor that are not applied yet. */
  processorEvents: number;
  /** Payouts whose next step is due. */
  payouts: number;
}

/** Counts what waits, for operators. */
export function countWaiting(connection: Connection): Promise<Waiting> {
  return queryOne<Waiting>(
    connection,
    sql`
    SELECT
      (SELECT count(*) FROM graphile_worker.jobs
        WHERE run_at <= now() AND locked_at IS NULL AND attempts < max_attempts) AS jobs,
      (SELECT count(*) FROM graphile_worker.jobs WHERE attempts >= max_attempts) AS "failedJobs",
      (SELECT count(*) FROM processor_events WHERE processed_at IS NULL) AS "processorEvents",
      (SELECT count(*) FROM payouts WHERE next_step_at < service_now()) AS payouts`,
  );
}
