import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { getBid } from "../../market/bids/records.ts";
import { bidActorOf } from "../../market/bids/rules.ts";
import { bidShownTo } from "../../market/fees/ofBid.ts";
import { findTask } from "../../market/tasks/records.ts";
import { Bid } from "../../schemas/bid.ts";
import { idOf } from "../../schemas/common.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/bids/{id}" },
    summary: "Read a bid",
    description:
      "Returns a bid, with all of its `notes`, to its bidder and to the task's buyer. For anyone else it is " +
      "`not_found`.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("bid") }))
  .output(z.object({ bid: Bid.meta({ description: "The bid." }) }))
  .query(async ({ ctx, input }) => {
    const record = await getBid(ctx.database, input.id);
    const bid = bidShownTo(ctx.userId, record);
    if (bidActorOf(bid, ctx.userId) === "owner") return { bid };
    const { buyerId } = await findTask(ctx.database, bid.taskId);
    if (buyerId !== ctx.userId) throw new ApiError("not_found");
    return { bid };
  });
