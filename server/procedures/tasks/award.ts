import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { ApiError } from "../../errors.ts";
import { findBid, moveBid } from "../../market/bids/records.ts";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, deliveryDueAt, momentOf } from "../../market/tasks/rules.ts";
import { Bid, bidInput } from "../../schemas/bid.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { inOrder, sql } from "../../store/connection.ts";
import { refuseOverdraft } from "../../store/ledger.ts";
import { keepActive } from "../../store/userLock.ts";
import { scoped } from "../../trpc.ts";

export const award = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/award" },
    summary: "Award a task to a bid",
    description:
      "Awards an open task of yours to one of its active bids. The hold shrinks to the bid's price, and the rest " +
      "returns to your available money; the other active bids are rejected, and `deliveryDueAt` becomes now plus " +
      "the bid's `etaHours`. Send the price that you have seen as `expectedPriceCents`: if the bidder has changed " +
      "it since, the answer is `bid_changed` and nothing happens.",
    errors: [
      ...(["ledger_failed", "forbidden", "not_found", "wrong_status", "bid_invalid", "bid_changed"] as const),
      ...approvalErrors,
    ],
  })
  .input(
    z.strictObject({
      id: idOf("task"),
      bidId: idOf("bid", "The bid to award the task to."),
      expectedPriceCents: bidInput.priceCents
        .optional()
        .meta({ description: "The price that you have seen. If it has changed, nothing happens." }),
    }),
  )
  .output(
    z.object({
      task: Task.meta({ description: "The task, awarded." }),
      awardedBid: Bid.meta({ description: "The bid that has won." }),
    }),
  )
  .mutation(({ ctx, input }) =>
    ctx
      .change(async (tx) => {
        const [task, bid] = await inOrder(
          () => lockTask(tx, input.id),
          () => findBid(tx, input.bidId),
        );
        const [actor, moment] = [actorOf(task, ctx.userId), momentOf(ctx)];
        assertTaskAction("award", task, actor, moment);
        if (bid === null || bid.taskId !== task.id) throw new ApiError("bid_invalid");
        const [isActive, awardedBid] = await inOrder(
          () => keepActive(tx, bid.bidder.id),
          () => moveBid(tx, "award", bid, { actor: "buyer" }),
        );
        // A suspended bidder's bids are withdrawn in the background, so one may still be active.
        if (!isActive) throw new ApiError("bid_invalid");
        const { priceCents } = awardedBid;
        if (priceCents !== (input.expectedPriceCents ?? priceCents)) throw new ApiError("bid_changed", { priceCents });
        mustBeApproved(tx, ctx, { amountCents: priceCents, taskId: task.id, bidId: bid.id, subjectId: task.id });
        const changes = sql`
          awarded_bid_id = ${bid.id}::uuid, awarded_bidder_id = ${bid.bidder.id}::uuid,
          delivery_due_at = ${deliveryDueAt(moment.now, bid.etaHours).toISOString()}::timestamptz`;
        return { task: await moveTask(tx, "award", task, { actor, moment, bid: awardedBid, changes }), awardedBid };
      })
      .catch(refuseOverdraft(ctx, "ledger_failed")),
  );
