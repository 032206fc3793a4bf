import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { WITHDRAWAL_PREFIX } from "../../server/market/fees/withdrawals.ts";
import { violatedCheck } from "../../server/store/databaseErrors.ts";

// What no request does: the passing of time, and the operator's commands.

/** For a failover, and a little more. */
const PATIENCE_MS = 120_000;
const RETRY_PAUSE_MS = 250;

const roundEnds = `
  WITH due AS (SELECT date_trunc('milliseconds', now()) + interval '1 second' AS at),
  task AS (UPDATE tasks SET delivery_due_at = due.at FROM due
    WHERE id = $1::text::uuid AND status = 'awarded' AND revisions_used = $2),
  job AS (UPDATE graphile_worker._private_jobs SET run_at = due.at FROM due
    WHERE payload ->> 'taskId' = $1::text AND locked_at IS NULL
      AND task_id = (SELECT id FROM graphile_worker._private_tasks WHERE identifier = 'endRound'))
  UPDATE change_rounds SET due_at = due.at FROM due
  WHERE task_id = $1::text::uuid AND round = $2 AND ended_at IS NULL`;

/**
 * Has a round of changes end in a second, which would take a day at least, and its job come then, so that the job and the sweep are
 * in each other's way.
 */
export const hastenRound = (databaseUrl: string, taskId: string, round: number): Promise<void> =>
  untilDone(databaseUrl, roundEnds, [taskId, round]);

/** Books a withdrawal of fees, as `npm run fees -- withdraw` does. Returns false if the platform has less than that. */
export async function withdrawFees(databaseUrl: string, amountCents: number, reference: string): Promise<boolean> {
  const parameters = [amountCents, `${WITHDRAWAL_PREFIX}${reference}`];
  try {
    await untilDone(databaseUrl, "SELECT ledger_withdraw_fees($1, $2)", parameters);
    return true;
  } catch (error) {
    if (isRefused(error)) return false;
    throw error;
  }
}

const isRefused = (error: unknown) => violatedCheck(error) === "ledger_platform_not_negative";

/** Asks until the database, which may be down, has done or refused it. */
async function untilDone(databaseUrl: string, statement: string, parameters: unknown[]): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(RETRY_PAUSE_MS)) {
    const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.query(statement, parameters);
      return;
    } catch (error) {
      if (isRefused(error) || Date.now() > deadline) throw error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
