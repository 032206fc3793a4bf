import { type Connection, sql } from "./connection.ts";
import type { JobName, JobPayload } from "./jobPayloads.ts";

/**
 * Adds a job in the caller's transaction: it exists when, and only when, the change is committed. `runAt` is when it
 * may start at the earliest; of jobs with the same `key` only the last added waits. A lost job is no lost deadline:
 * deadlines are also swept from the domain's own rows.
 */
export async function addJob<Name extends JobName>(
  connection: Connection,
  name: Name,
  payload: JobPayload<Name>,
  options: { runAt?: Date; key?: string } = {},
): Promise<void> {
  const runAt = options.runAt?.toISOString() ?? null;
  await connection.query(sql`
    SELECT graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, run_at => ${runAt}::timestamptz,
      job_key => ${options.key ?? null})`);
}
