import { type Connection, sql } from "./connection.ts";
import type { JobName, JobPayload } from "./jobPayloads.ts";

/**
 * Adds a job in the caller's transaction, so that it exists if and only if the change commits. `runAt` is the earliest
 * time it may start; a job replaces a waiting one with the same `key`. Deadlines do not depend on jobs: sweeps also find
 * them in the domain's own rows, so losing a job delays a deadline but does not lose it.
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
