import type { Services } from "../../services.ts";
import { empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { endPending, getAgreement } from "../tasks/agreements.ts";
import { getAwardedBid } from "../tasks/moveTask.ts";
import { lockTaskOfAgreement } from "../tasks/records.ts";

/**
 * Ends an agreement that nobody has answered in time, and records the end of that time. Does nothing if it came too early, ran
 * before, or the agreement has ended meanwhile.
 */
export async function lapseAgreement(services: Services, { agreementId }: JobPayload<"lapseAgreement">): Promise<void> {
  await services.database.transaction(async (tx) => {
    const task = await lockTaskOfAgreement(tx, agreementId);
    const { status, expiresAt } = await getAgreement(tx, agreementId);
    if (status !== "pending" || services.clock.now() < new Date(expiresAt)) return;
    const agreement = await endPending(tx, task.id, "lapsed", new Date(expiresAt));
    if (agreement === null) throw new Error(`agreement ${agreementId} is not pending`);
    const bid = await getAwardedBid(tx, task);
    tx.events.record("agreement.ended", { task, bid, agreement }, [task.buyerId, bid.bidder.id]);
  });
}

/** Returns agreements that have lapsed and are still pending, in order of that time, starting after `after`. */
export function findLapsedAgreements(
  { database, clock }: Services,
  limit: number,
  after: { agreementId: string } | null,
): Promise<{ agreementId: string }[]> {
  return database.query<{ agreementId: string }>(sql`
    SELECT id AS "agreementId" FROM agreements
    WHERE status = 'pending' AND expires_at <= ${clock.now().toISOString()}::timestamptz
      ${after === null ? empty : sql`AND (expires_at, id) > (SELECT expires_at, id FROM agreements WHERE id = ${after.agreementId}::uuid)`}
    ORDER BY expires_at, id LIMIT ${limit}`);
}
