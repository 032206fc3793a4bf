import { z } from "zod";
import { bidActorOf } from "../../market/bids/rules.ts";
import { bidShownTo } from "../../market/fees/ofBid.ts";
import { lockBid } from "../../market/tasks/lockBid.ts";
import { withdrawBid } from "../../market/tasks/withdrawBid.ts";
import { Bid } from "../../schemas/bid.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const withdraw = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/withdraw" },
    summary: "Withdraw a bid",
    description:
      "Withdraws an active bid of yours. You may place another one while the task is open. A bid that was awarded " +
      "can no longer be withdrawn.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("bid") }))
  .output(z.object({ bid: Bid.meta({ description: "The bid, withdrawn." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { bid } = await lockBid(tx, input.id);
      return { bid: bidShownTo(ctx.userId, await withdrawBid(tx, bid, bidActorOf(bid, ctx.userId))) };
    }),
  );
