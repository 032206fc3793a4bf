import { z } from "zod";
import { moveBid } from "../../market/bids/moveBid.ts";
import { getBid } from "../../market/bids/records.ts";
import { bidActorOf } from "../../market/bids/rules.ts";
import { lockTask, updateTask } from "../../market/tasks/records.ts";
import { Bid } from "../../schemas/bid.ts";
import { Id } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";

/** Withdraws an active bid; the bidder may then place another one. */
export const withdraw = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/withdraw" },
    summary: "Withdraw a bid",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: Id }))
  .output(z.object({ bid: Bid }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { taskId } = await getBid(tx, input.id);
      await lockTask(tx, taskId);
      const bid = await getBid(tx, input.id);
      const withdrawn = await moveBid(tx, "withdraw", bid, { actor: bidActorOf(bid, ctx.userId) });
      await updateTask(tx, taskId, sql`bid_count = bid_count - 1`);
      return { bid: withdrawn };
    }),
  );
