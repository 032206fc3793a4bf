import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { bidColumns } from "../../market/bids/records.ts";
import { type BidRecord, bidShownTo, frozenFor } from "../../market/fees/ofBid.ts";
import { keepSchedule } from "../../market/fees/schedules.ts";
import { lockTask, updateTask } from "../../market/tasks/records.ts";
import { actorOf, assertPriceWithinBudget, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { Bid, bidInput } from "../../schemas/bid.ts";
import { idOf } from "../../schemas/common.ts";
import { inOrder, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { assertCallerActive } from "../../store/userLock.ts";
import { scoped } from "../../trpc.ts";

/** The database enforces that a bidder has at most one active bid per task. */
export const place = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/bids", status: 201 },
    summary: "Place a bid",
    description:
      "Places a bid on an open task of another user: a price of at most the task's maximum budget, and the hours " +
      "that you need from the award to the delivery. No money moves. If the platform takes a fee (`GET /fees`), the " +
      "answer has `feeCents`, which is frozen, and `netCents`, what you get. You can have one active bid per task; for " +
      "another one the answer is `active_bid_exists`, with the `bidId` of the first.",
    errors: ["price_above_budget", "forbidden", "not_found", "wrong_status", "active_bid_exists"],
  })
  .input(
    z.strictObject({
      id: idOf("task"),
      priceCents: bidInput.priceCents,
      etaHours: bidInput.etaHours,
      notes: bidInput.notes.optional(),
    }),
  )
  .output(z.object({ bid: Bid.meta({ description: "The new bid." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [found, , schedule] = await inOrder(
        () => lockTask(tx, input.id),
        () => assertCallerActive(tx, ctx.userId),
        () => keepSchedule(tx),
      );
      assertTaskAction("placeBid", found, actorOf(found, ctx.userId), momentOf(ctx));
      assertPriceWithinBudget(found, input.priceCents);
      const fee = frozenFor(input.priceCents, schedule);
      const [task, [bid]] = await inOrder(
        () => updateTask(tx, input.id, sql`bid_count = bid_count + 1`),
        () =>
          // Whoever bids twice is told by the conflict: to ask before took 45 % of a bid's CPU time, because a connection
          // that first saw few bids keeps the plan for few.
          tx.query<BidRecord>(sql`
            WITH b AS (
              INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, notes, priced_at, fee_schedule_id, fee_cents)
              VALUES (${input.id}::uuid, ${ctx.userId}::uuid, ${input.priceCents}, ${input.etaHours}, ${input.notes ?? null},
                      ${fee.at}, ${fee.id}, ${fee.cents})
              ON CONFLICT (task_id, bidder_id) WHERE status = 'active' DO NOTHING
              RETURNING *)
            SELECT ${bidColumns} FROM b JOIN users bidder ON bidder.id = b.bidder_id`),
      );
      if (!bid) throw await activeBidExists(tx, task.id, ctx.userId);
      tx.events.record("bid.received", { task, bid }, [task.buyerId]);
      return { bid: bidShownTo(ctx.userId, bid) };
    }),
  );

async function activeBidExists(tx: Transaction, taskId: string, bidderId: string): Promise<ApiError> {
  const { bidId } = await queryOne<{ bidId: string }>(
    tx,
    sql`
      SELECT id AS "bidId" FROM bids
      WHERE task_id = ${taskId}::uuid AND bidder_id = ${bidderId}::uuid AND status = 'active'`,
  );
  return new ApiError("active_bid_exists", { bidId });
}
