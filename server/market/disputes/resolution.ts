import type { z } from "zod";
import { ApiError } from "../../errors.ts";
import type { Dispute, resolveInput } from "../../schemas/dispute.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { recordAction } from "../moderation/actions.ts";
import { getAwardedBid, moveTask } from "../tasks/moveTask.ts";
import { lockTask, type TaskRecord } from "../tasks/records.ts";
import { assertTaskAction, moderatorActorOf, momentOf } from "../tasks/rules.ts";
import type { TaskActor } from "../tasks/stateMachine.ts";
import { disputeColumns, findDispute } from "./records.ts";
import { decideBidderShare } from "./rules.ts";

export type Resolution = { id: string } & z.infer<z.ZodObject<typeof resolveInput>>;

/**
 * Resolves a dispute and divides the held price accordingly. It happens once: the second of two parallel calls finds
 * the task resolved and throws `wrong_status`. `moderatorId` is null for an operator at the command line.
 */
export async function resolveDispute(
  tx: Transaction,
  services: Pick<Services, "clock" | "settings">,
  { id, resolution, bidderCents, note }: Resolution,
  moderatorId: string | null,
): Promise<{ dispute: Dispute; task: TaskRecord }> {
  const { taskId } = await findDispute(tx, id);
  const task = await lockTask(tx, taskId);
  const actor = moderatorId === null ? "moderator" : await moderatorOf(tx, task, moderatorId);
  const moment = momentOf(services);
  assertTaskAction("resolve", task, actor, moment);
  const bid = await getAwardedBid(tx, task);
  const share = decideBidderShare({ resolution, bidderCents, priceCents: bid.priceCents });
  if (share.refused !== null) {
    throw new ApiError("invalid_input", { issues: [{ path: "bidderCents", message: share.refused }] });
  }

  const [dispute] = await tx.query<Dispute>(sql`
      UPDATE disputes d SET status = 'resolved', resolution = ${resolution}, bidder_cents = ${share.bidderCents},
             buyer_cents = ${bid.priceCents - share.bidderCents}, note = ${note || null},
             resolved_by = ${moderatorId}::uuid, resolved_at = ${moment.now.toISOString()}::timestamptz
      WHERE d.id = ${id}::uuid RETURNING ${disputeColumns}`);
  if (!dispute) throw new ApiError("not_found");
  const { bidderCents: paidCents } = share;
  const resolved = await moveTask(tx, "resolve", task, {
    actor,
    moment,
    bid,
    details: { dispute, by: "moderator" },
    bidderCents: paidCents,
  });
  await recordAction(tx, { action: "resolve_dispute", moderatorId, disputeId: id, reason: note });
  return { dispute, task: resolved };
}

async function moderatorOf(tx: Transaction, task: TaskRecord, moderatorId: string): Promise<TaskActor> {
  const bids = await tx.query(sql`
    SELECT 1 FROM bids WHERE task_id = ${task.id}::uuid AND bidder_id = ${moderatorId}::uuid LIMIT 1`);
  return moderatorActorOf(task, moderatorId, bids.length > 0);
}
