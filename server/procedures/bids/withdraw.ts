import { z } from "zod";
import { getBid } from "../../market/bids/records.ts";
import { bidActorOf } from "../../market/bids/rules.ts";
import { lockTask } from "../../market/tasks/records.ts";
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
      const { taskId } = await getBid(tx, input.id);
      await lockTask(tx, taskId);
      const bid = await getBid(tx, input.id);
      return { bid: await withdrawBid(tx, bid, bidActorOf(bid, ctx.userId)) };
    }),
  );
