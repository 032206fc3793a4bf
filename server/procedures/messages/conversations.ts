import { z } from "zod";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { EXCERPT_CHARACTERS, excerptOf } from "../../schemas/excerpts.ts";
import { Conversation } from "../../schemas/message.ts";
import { hidden, literal, queryOne, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

interface Row extends Pick<Conversation, "bidId" | "task" | "with" | "unreadCount"> {
  text: string | null;
  senderId: string;
  fileCount: number;
  /** Of the newest message. */
  createdAt: string;
}

/** How many of them are looked through for unread messages: 100 take 0.2 ms, 1,000 up to 9 ms on a busy machine. */
const MAX_COUNTED = 1_000;

/** Of a row of `conversations c JOIN messages m`, `m` being the newest message. */
const unreadCount = sql`(CASE c.side WHEN 'buyer' THEN m.to_buyer ELSE m.to_bidder END) - c.read`;

export const conversations = signedIn
  .meta({
    rest: { method: "GET", path: "/conversations" },
    summary: "List my conversations",
    description:
      "Lists your conversations that have a message, the one with the newest message first. The last message has the first 500 " +
      "characters of its text. `unreadCount` counts over all of them, whatever the page has.",
  })
  .input(PageQuery.meta({ id: "ListConversations" }))
  .output(
    z.object({
      conversations: z.array(Conversation).meta({ description: "The one with the newest message first." }),
      unreadCount: z.int32().meta({
        description: "Messages of others that you have not read, in your newest 1,000 conversations.",
        example: 0,
      }),
      nextCursor: NextCursor,
    }),
  )
  .query(async ({ ctx, input }) => {
    const isOwn = sql`c.user_id = ${hidden(sql`${ctx.userId}::uuid`)}`;
    const page = readPage<Row>(ctx.database, "messages.conversations", {
      ...input,
      select: sql`
        SELECT c.bid_id AS "bidId", json_build_object('id', t.id, 'title', t.title, 'status', t.status) AS task,
               json_build_object('id', other.id, 'displayName', other.display_name) AS with,
               left(m.text, ${EXCERPT_CHARACTERS + 1}) AS text, m.sender_id AS "senderId", m.file_count AS "fileCount",
               ${unreadCount} AS "unreadCount",
               c.updated_at AS "createdAt"
        FROM conversations c JOIN messages m ON m.id = c.last_message_id JOIN tasks t ON t.id = m.task_id
             JOIN users other ON other.id = c.with_id`,
      where: isOwn,
    });
    const total = queryOne<{ count: number }>(
      ctx.database,
      sql`
      SELECT coalesce(sum(newest.unread), 0)::int AS count FROM (
        SELECT ${unreadCount} AS unread FROM conversations c JOIN messages m ON m.id = c.last_message_id
        WHERE ${isOwn} ORDER BY c.updated_at DESC LIMIT ${literal(MAX_COUNTED)}) newest`,
    );
    const [{ rows, nextCursor }, { count }] = await Promise.all([page, total]);
    const shown = rows.map(({ text, senderId, fileCount, createdAt, ...row }) => ({
      ...row,
      lastMessage: { ...excerptOf(text), senderId, createdAt, fileCount },
      updatedAt: createdAt,
    }));
    return { conversations: shown, unreadCount: count, nextCursor };
  });
