import { ApiError } from "../../errors.ts";
import type { Agreement } from "../../schemas/agreement.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Dispute } from "../../schemas/dispute.ts";
import { inOrder, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { disputeColumns } from "../disputes/records.ts";
import type { BidRecord } from "../fees/ofBid.ts";
import { moveTask, scheduleDeadline } from "../tasks/moveTask.ts";
import { type TaskRecord, updateTask } from "../tasks/records.ts";
import { moveEndOfRound } from "../tasks/rounds.ts";
import { actorOf, assertTaskAction, isInRound, type Moment } from "../tasks/rules.ts";
import { taskActionOf } from "./rules.ts";

interface Acceptance {
  agreement: Agreement;
  bid: BidRecord;
  userId: string;
  moment: Moment;
}

/** Does to a locked task what both sides have agreed on, as the user who has accepted it. Returns the task as it is then. */
export async function carryOut(tx: Transaction, task: TaskRecord, acceptance: Acceptance): Promise<TaskRecord> {
  const { agreement, bid, userId, moment } = acceptance;
  const action = taskActionOf(agreement.kind, task.status);
  const actor = actorOf(task, userId);
  assertTaskAction(action, task, actor, moment);
  if (agreement.deliveryDueAt !== null) return extend(tx, task, agreement.deliveryDueAt, moment);
  const bidderCents = agreement.bidderCents ?? 0;
  const details =
    action === "settleDispute"
      ? { dispute: await settleDispute(tx, task, bid, bidderCents, moment), by: "parties" as const, agreement }
      : { reason: agreement.reason, agreement };
  return moveTask(tx, action, task, { actor, moment, bid, details, bidderCents });
}

async function extend(tx: Transaction, task: TaskRecord, deliveryDueAt: string, moment: Moment): Promise<TaskRecord> {
  if (moment.now >= new Date(deliveryDueAt)) {
    throw new ApiError("wrong_status", { message: "The due time that was proposed has passed." });
  }
  const [, extended] = await inOrder(
    async () => isInRound(task) && moveEndOfRound(tx, task, deliveryDueAt),
    () => updateTask(tx, task.id, sql`delivery_due_at = ${deliveryDueAt}::timestamptz`),
  );
  scheduleDeadline(tx, extended, moment);
  return extended;
}

/** Nobody has lost a dispute that both sides settle. */
function settleDispute(
  tx: Transaction,
  task: TaskRecord,
  bid: Bid,
  bidderCents: number,
  moment: Moment,
): Promise<Dispute> {
  return queryOne<Dispute>(
    tx,
    sql`
    UPDATE disputes d SET status = 'resolved', resolution = 'settled', bidder_cents = ${bidderCents},
           buyer_cents = ${bid.priceCents - bidderCents}, resolved_at = ${moment.now.toISOString()}::timestamptz
    WHERE d.task_id = ${task.id}::uuid RETURNING ${disputeColumns}`,
  );
}
