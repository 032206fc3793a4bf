import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { findBid, setBidStatus } from "../../market/bids/records.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { decideAward, deliveryDueAt, expiresAt } from "../../market/tasks/rules.ts";
import { moveTask } from "../../market/tasks/transition.ts";
import { Bid } from "../../schemas/bid.ts";
import { Id } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { sql } from "../../store/connection.ts";
import { isOverdraft } from "../../store/databaseErrors.ts";
import { scoped } from "../../trpc.ts";

/** Awards an open task to one of its active bids, lowers the hold to the bid's price and rejects the other bids. */
export const award = scoped("task:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/award" },
    summary: "Award a task to a bid",
    errors: ["ledger_failed", "forbidden", "not_found", "wrong_status", "bid_invalid"],
  })
  .input(z.strictObject({ id: Id, bidId: Id }))
  .output(z.object({ task: Task, awardedBid: Bid }))
  .mutation(({ ctx, input }) =>
    ctx.database
      .transaction(async (tx) => {
        const task = await lockTask(tx, input.id);
        const bid = await findBid(tx, input.bidId);
        decideAward(task, bid, ctx.userId);
        const awardedBid = await setBidStatus(tx, bid.id, "awarded");
        await tx.query(sql`
          UPDATE bids SET status = 'rejected', updated_at = clock_timestamp()
          WHERE task_id = ${task.id}::uuid AND status = 'active'`);
        const now = ctx.clock.now();
        const awarded = await moveTask(tx, "award", task, {
          bid: awardedBid,
          changes: sql`
            awarded_bid_id = ${bid.id}::uuid, awarded_bidder_id = ${bid.bidder.id}::uuid,
            awarded_at = ${now.toISOString()}::timestamptz,
            delivery_due_at = ${deliveryDueAt(now, bid.etaHours).toISOString()}::timestamptz`,
        });
        const runAt = expiresAt(awarded, ctx.settings.deliveryGraceSeconds) ?? now;
        await tx.jobs.add("expireTask", { taskId: task.id }, { runAt });
        return { task: awarded, awardedBid };
      })
      .catch((error: unknown) => {
        throw isOverdraft(error) ? new ApiError("ledger_failed") : error;
      }),
  );
