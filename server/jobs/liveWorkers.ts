import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";
import { logFailure } from "../store/logFailure.ts";

/** Heartbeat interval of a worker process. */
const HEARTBEAT_INTERVAL_MS = 5_000;
/** A worker without a heartbeat for this long counts as dead; the next heartbeat of another worker unlocks its jobs. */
const DEAD_AFTER_SECONDS = 30;

/**
 * Sends a heartbeat for a worker process, at once and then every 5 seconds, and unlocks the jobs of dead workers.
 * `stop` removes the worker from the list. `workerId` is what graphile-worker writes into the jobs that this process
 * has taken.
 */
export function startHeartbeat(services: Services, workerId: string): { stop(): Promise<void> } {
  const { database, log } = services;
  const beat = () =>
    recordHeartbeat(database, workerId)
      .then(() => unlockJobsOfDeadWorkers(services))
      .catch((error: unknown) => logFailure(log, error, {}, "a worker heartbeat failed"));
  let last = beat();
  const timer = setInterval(() => {
    last = beat();
  }, HEARTBEAT_INTERVAL_MS);
  return {
    async stop() {
      clearInterval(timer);
      await last;
      await database.query(sql`DELETE FROM job_workers WHERE worker_id = ${workerId}`);
    },
  };
}

async function recordHeartbeat(connection: Connection, workerId: string): Promise<void> {
  await connection.query(sql`
    INSERT INTO job_workers (worker_id) VALUES (${workerId})
    ON CONFLICT (worker_id) DO UPDATE SET seen_at = clock_timestamp()`);
}

/**
 * Unlocks the jobs of dead workers; graphile-worker itself would wait 4 hours. A worker counts as dead when its last
 * heartbeat is too old, or when it has held a job for that long without any heartbeat. A worker that was only suspended
 * may find its jobs done by others when it resumes, so any job may run twice.
 */
async function unlockJobsOfDeadWorkers({ database, log }: Services): Promise<void> {
  const silence = `${DEAD_AFTER_SECONDS} seconds`;
  const dead = await database.query<{ workerId: string }>(sql`
    SELECT DISTINCT j.locked_by AS "workerId" FROM graphile_worker.jobs j
    LEFT JOIN job_workers w ON w.worker_id = j.locked_by
    WHERE j.locked_at < clock_timestamp() - ${silence}::interval
      AND (w.worker_id IS NULL OR w.seen_at < clock_timestamp() - ${silence}::interval)`);
  if (dead.length > 0) {
    const workerIds = dead.map(({ workerId }) => workerId);
    await database.query(sql`SELECT graphile_worker.force_unlock_workers(${workerIds}::text[])`);
    log.warn({ workerIds }, "dead workers found; their jobs were unlocked");
  }
  await database.query(sql`DELETE FROM job_workers WHERE seen_at < clock_timestamp() - interval '1 day'`);
}
