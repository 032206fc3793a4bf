import { z } from "zod";
import { type MessageRow, messageColumns, readFiles, toMessage } from "../../market/conversation/messages.ts";
import { findTalk } from "../../market/conversation/talk.ts";
import { idOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { Message } from "../../schemas/message.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/bids/{id}/messages" },
    summary: "List a conversation's messages",
    description:
      "Lists the messages between a bid's bidder and the task's buyer, newest first, with links to their files. It is for " +
      "these two, for good, and for a moderator's session while the task is disputed; for anyone else it is `not_found`.",
    errors: ["not_found"],
  })
  .input(PageQuery.extend({ id: idOf("bid") }))
  .output(z.object({ messages: z.array(Message).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { bid } = await findTalk(ctx.database, ctx, input.id);
    const { rows, nextCursor } = await readPage<MessageRow>(ctx.database, "messages.list", {
      ...input,
      select: sql`SELECT ${messageColumns} FROM messages m`,
      where: sql`m.bid_id = ${bid.id}::uuid`,
    });
    const files = await readFiles(ctx.database, rows);
    return { messages: await Promise.all(rows.map((row) => toMessage(ctx, row, files))), nextCursor };
  });
