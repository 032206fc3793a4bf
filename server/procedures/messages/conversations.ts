import { z } from "zod";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { EXCERPT_CHARACTERS, excerptOf } from "../../schemas/excerpts.ts";
import { Conversation } from "../../schemas/message.ts";
import { hidden, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

interface Row extends Pick<Conversation, "bidId" | "task" | "with" | "unreadCount"> {
  text: string | null;
  senderId: string;
  fileCount: number;
  /** Of the newest message. */
  createdAt: string;
}

export const conversations = signedIn
  .meta({
    rest: { method: "GET", path: "/conversations" },
    summary: "List my conversations",
    description:
      "Lists your conversations that have a message, the one with the newest message first. The last message has the first 500 " +
      "characters of its text.",
  })
  .input(PageQuery.meta({ id: "ListConversations" }))
  .output(
    z.object({
      conversations: z.array(Conversation).meta({ description: "The one with the newest message first." }),
      nextCursor: NextCursor,
    }),
  )
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<Row>(ctx.database, "messages.conversations", {
      ...input,
      select: sql`
        SELECT c.bid_id AS "bidId", json_build_object('id', t.id, 'title', t.title, 'status', t.status) AS task,
               json_build_object('id', other.id, 'displayName', other.display_name) AS with,
               left(m.text, ${EXCERPT_CHARACTERS + 1}) AS text, m.sender_id AS "senderId", m.file_count AS "fileCount",
               (CASE c.side WHEN 'buyer' THEN m.to_buyer ELSE m.to_bidder END) - c.read AS "unreadCount",
               c.updated_at AS "createdAt"
        FROM conversations c JOIN messages m ON m.id = c.last_message_id JOIN tasks t ON t.id = m.task_id
             JOIN users other ON other.id = c.with_id`,
      where: sql`c.user_id = ${hidden(sql`${ctx.userId}::uuid`)}`,
    });
    const shown = rows.map(({ text, senderId, fileCount, createdAt, ...row }) => ({
      ...row,
      lastMessage: { ...excerptOf(text), senderId, createdAt, fileCount },
      updatedAt: createdAt,
    }));
    return { conversations: shown, nextCursor };
  });
