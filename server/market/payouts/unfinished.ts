import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { payoutStates } from "./rules.ts";

/** The states of a payout that is neither paid nor back in the wallet. */
export const unfinishedPayoutStates: readonly string[] = Object.entries(payoutStates)
  .filter(([, { status }]) => status !== "paid" && status !== "failed")
  .map(([state]) => state);

interface UnfinishedPayouts {
  state: string;
  count: number;
  /** Age in seconds of the oldest one; 0 when there is none. */
  oldestSeconds: number;
}

/** Counts the payouts under way in each state, with the age of the oldest; for the metrics. */
export async function countUnfinishedPayouts({ database }: Pick<Services, "database">): Promise<UnfinishedPayouts[]> {
  const rows = await database.query<UnfinishedPayouts>(sql`
    SELECT state, count(*) AS count, extract(epoch FROM service_now() - min(created_at))::float8 AS "oldestSeconds"
    FROM payouts WHERE next_step_at IS NOT NULL AND state NOT IN ('paid', 'failed') GROUP BY state`);
  return unfinishedPayoutStates.map(
    (state) => rows.find((row) => row.state === state) ?? { state, count: 0, oldestSeconds: 0 },
  );
}
