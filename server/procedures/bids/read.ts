import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { getBid } from "../../market/bids/records.ts";
import { bidActorOf } from "../../market/bids/rules.ts";
import { findTask } from "../../market/tasks/records.ts";
import { Bid } from "../../schemas/bid.ts";
import { Id } from "../../schemas/common.ts";
import { signedIn } from "../../trpc.ts";

/** Returns a bid with all of its notes, to its owner and to the task's buyer. Throws `not_found` for anyone else. */
export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/bids/{id}" },
    summary: "Read a bid",
    description: "For the bidder and the task's buyer, with all of its `notes`; lists show the first 500 characters.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: Id }))
  .output(z.object({ bid: Bid }))
  .query(async ({ ctx, input }) => {
    const bid = await getBid(ctx.database, input.id);
    if (bidActorOf(bid, ctx.userId) === "owner") return { bid };
    const { buyerId } = await findTask(ctx.database, bid.taskId);
    if (buyerId !== ctx.userId) throw new ApiError("not_found");
    return { bid };
  });
