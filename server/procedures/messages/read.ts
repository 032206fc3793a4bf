import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { findTalk } from "../../market/conversation/talk.ts";
import { idOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";

export const read = scoped("message:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/messages/read", status: 204 },
    summary: "Mark messages as read",
    description:
      "Marks the messages of one of your conversations as read, up to this one. Nothing happens if you have read further already.",
    errors: ["not_found"],
  })
  .input(
    z
      .strictObject({ id: idOf("bid"), upTo: idOf("message", "The newest message that you have read.") })
      .meta({ id: "MarkMessagesRead" }),
  )
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { bid } = await findTalk(tx, ctx, input.id);
      const [message] = await tx.query<{ toBuyer: number; toBidder: number }>(sql`
        SELECT to_buyer AS "toBuyer", to_bidder AS "toBidder" FROM messages
        WHERE id = ${input.upTo}::uuid AND bid_id = ${bid.id}::uuid`);
      if (message === undefined) throw new ApiError("not_found");
      // A moderator has no row.
      await tx.query(sql`
        UPDATE conversations
        SET read = greatest(read, CASE side WHEN 'buyer' THEN ${message.toBuyer}::int ELSE ${message.toBidder}::int END)
        WHERE bid_id = ${bid.id}::uuid AND user_id = ${ctx.userId}::uuid`);
    }),
  );
