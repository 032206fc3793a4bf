import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";

/** A worker process says this often that it lives. */
const HEARTBEAT_INTERVAL_MS = 5_000;
/** One that has said nothing for so long is gone: with the next heartbeat of another its jobs are free again. */
const GONE_AFTER_SECONDS = 30;

/**
 * Says that a worker process lives, at once and then regularly, and looks after the jobs of those that do not any more;
 * `stop` takes it off the list. `workerId` is what graphile-worker writes into the jobs that the process has taken.
 */
export function startHeartbeat(services: Services, workerId: string): { stop(): Promise<void> } {
  const { database, log } = services;
  const beat = () =>
    noteLiveWorker(database, workerId)
      .then(() => unlockJobsOfGoneWorkers(services))
      .catch((error: unknown) => log.warn({ error }, "a heartbeat failed"));
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

async function noteLiveWorker(connection: Connection, workerId: string): Promise<void> {
  await connection.query(sql`
    INSERT INTO job_workers (worker_id) VALUES (${workerId})
    ON CONFLICT (worker_id) DO UPDATE SET seen_at = clock_timestamp()`);
}

/**
 * Gives the jobs of workers that are gone to the others; graphile-worker itself would wait 4 hours. A worker is gone when
 * it has not shown itself for a while, or holds a job for that long and was never seen at all. One that was only
 * suspended may find its jobs done by others when it wakes up: every job may run twice.
 */
async function unlockJobsOfGoneWorkers({ database, log }: Services): Promise<void> {
  const silence = `${GONE_AFTER_SECONDS} seconds`;
  const gone = await database.query<{ workerId: string }>(sql`
    SELECT DISTINCT j.locked_by AS "workerId" FROM graphile_worker.jobs j
    LEFT JOIN job_workers w ON w.worker_id = j.locked_by
    WHERE j.locked_at < clock_timestamp() - ${silence}::interval
      AND (w.worker_id IS NULL OR w.seen_at < clock_timestamp() - ${silence}::interval)`);
  if (gone.length > 0) {
    const workerIds = gone.map(({ workerId }) => workerId);
    await database.query(sql`SELECT graphile_worker.force_unlock_workers(${workerIds}::text[])`);
    log.warn({ workerIds }, "workers are gone; their jobs are free again");
  }
  await database.query(sql`DELETE FROM job_workers WHERE seen_at < clock_timestamp() - interval '1 day'`);
}
