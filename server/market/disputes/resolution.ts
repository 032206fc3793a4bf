import type { z } from "zod";
import { ApiError } from "../../errors.ts";
import type { Dispute, resolveInput } from "../../schemas/dispute.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { lockTask, type TaskRecord } from "../tasks/records.ts";
import { actorOf, decideTaskAction } from "../tasks/rules.ts";
import { findAwardedBid, moveTask } from "../tasks/transition.ts";
import { disputeColumns, findDispute } from "./records.ts";
import { bidderShare } from "./rules.ts";

export type Resolution = { id: string } & z.infer<z.ZodObject<typeof resolveInput>>;

/**
 * Decides a dispute and divides the held price as decided, once: of two at the same time the second finds the task
 * resolved. `moderatorId` is null for an operator at the command line.
 */
export async function resolveDispute(
  { database, clock }: Pick<Services, "database" | "clock">,
  { id, resolution, bidderCents, note }: Resolution,
  moderatorId: string | null,
): Promise<{ dispute: Dispute; task: TaskRecord }> {
  return database.transaction(async (tx) => {
    const { taskId } = await findDispute(tx, id);
    const task = await lockTask(tx, taskId);
    const party = moderatorId === null ? "stranger" : actorOf(task, moderatorId);
    decideTaskAction("resolve", task, party === "stranger" ? "moderator" : party);
    const bid = await findAwardedBid(tx, task);
    const shareCents = bidderShare({ resolution, bidderCents, priceCents: bid.priceCents });

    const now = clock.now().toISOString();
    const [dispute] = await tx.query<Dispute>(sql`
      UPDATE disputes d SET status = 'resolved', resolution = ${resolution}, bidder_cents = ${shareCents},
             buyer_cents = ${bid.priceCents - shareCents}, note = ${note || null},
             resolved_by = ${moderatorId}::uuid, resolved_at = ${now}::timestamptz
      WHERE d.id = ${id}::uuid RETURNING ${disputeColumns}`);
    if (!dispute) throw new ApiError("not_found");
    const changes = sql`closed_at = ${now}::timestamptz`;
    const resolved = await moveTask(tx, "resolve", task, { bid, dispute, changes, bidderCents: shareCents });
    return { dispute, task: resolved };
  });
}
