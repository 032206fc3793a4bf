import { currentTraceParent, TRACE_PARENT } from "../tracing.ts";
import { type Connection, queryOne, sql } from "./connection.ts";
import type { JobName, JobPayload } from "./jobPayloads.ts";
import { deleteInBatches } from "./retention.ts";

const TRACE_FLAG = `${TRACE_PARENT}=`;

/** The span that added a job, from the job's flags; null for none. */
export function traceParentOf(flags: Readonly<Record<string, unknown>> | null): string | null {
  const flag = Object.keys(flags ?? {}).find((name) => name.startsWith(TRACE_FLAG));
  return flag?.slice(TRACE_FLAG.length) ?? null;
}

/**
 * Adds a job in the caller's transaction, so that it exists if and only if the change commits. `runAt` is the earliest
 * time it may start, by the service's clock; a job replaces a waiting one with the same `key`. Deadlines do not depend on jobs: sweeps also find
 * them in the domain's own rows, so losing a job delays a deadline but does not lose it.
 */
export async function addJob<Name extends JobName>(
  connection: Connection,
  name: Name,
  payload: JobPayload<Name>,
  options: { runAt?: Date; key?: string } = {},
): Promise<void> {
  const runAt = options.runAt?.toISOString() ?? null;
  // A flag, which nothing forbids, and not a field of the payload: workers of an older version would refuse that.
  const traceParent = currentTraceParent();
  const flags = traceParent === null ? null : [`${TRACE_FLAG}${traceParent}`];
  await connection.query(sql`
    SELECT graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, run_at => real_time_of(${runAt}::timestamptz),
      job_key => ${options.key ?? null}, flags => ${flags}::text[])`);
}

/** Adds many jobs of a kind at once, each with a key or none: one statement and one notification for all of them. */
export async function addJobs<Name extends JobName>(
  connection: Connection,
  name: Name,
  jobs: readonly { payload: JobPayload<Name>; key?: string }[],
): Promise<void> {
  if (jobs.length === 0) return;
  await connection.query(sql`
    SELECT FROM graphile_worker.add_jobs(ARRAY(
      SELECT (${name}, payload::json, NULL, NULL, NULL, key, NULL, NULL)::graphile_worker.job_spec
      FROM unnest(${jobs.map(({ payload }) => JSON.stringify(payload))}::text[], ${jobs.map(({ key = null }) => key)}::text[])
        AS job (payload, key)))`);
}

const FAILED_JOBS_KEPT_DAYS = 30;

/**
 * Deletes jobs that failed for the last time 30 days ago; until then they are there for an operator to look at. Nothing is
 * lost with them, because sweeps find in the domain's own rows what is still to be done. Jobs go by real time.
 */
export async function pruneFailedJobs({ database }: { database: Connection }): Promise<void> {
  await deleteInBatches(
    database,
    (limit) => sql`
    SELECT FROM graphile_worker.complete_jobs(ARRAY(
      SELECT id FROM graphile_worker.jobs
      WHERE attempts >= max_attempts AND locked_at IS NULL AND updated_at < now() - make_interval(days => ${FAILED_JOBS_KEPT_DAYS})
      ORDER BY id LIMIT ${limit}))`,
  );
}

/** Returns how many jobs are due or under way. Those that have failed for good, or wait for a retry, are not. */
export async function countDueJobs(connection: Connection): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    connection,
    sql`
    SELECT count(*) FROM graphile_worker.jobs WHERE locked_at IS NOT NULL OR (run_at <= now() AND attempts < max_attempts)`,
  );
  return count;
}
