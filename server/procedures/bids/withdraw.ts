import { z } from "zod";
import { getBid } from "../../market/bids/records.ts";
import { bidActorOf } from "../../market/bids/rules.ts";
import { lockTask } from "../../market/tasks/records.ts";
import { withdrawBid } from "../../market/tasks/withdrawBid.ts";
import { Bid } from "../../schemas/bid.ts";
import { Id } from "../../schemas/common.ts";
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
      return { bid: await withdrawBid(tx, bid, bidActorOf(bid, ctx.userId)) };
    }),
  );
