import { z } from "zod";
import { moderatedUserColumns } from "../../market/accounts/suspension.ts";
import { NextCursor, PageQuery, text } from "../../schemas/common.ts";
import { ModeratedUser } from "../../schemas/moderation.ts";
import { empty, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { moderator } from "../../trpc.ts";

/** Users for moderators, newest first; closed accounts are left out. */
export const list = moderator
  .meta({ rest: { method: "GET", path: "/users" }, summary: "List users" })
  .input(
    PageQuery.extend({
      query: text(1, 320)
        .optional()
        .meta({ description: "Part of the email address or of the display name, in any case; or the whole id." }),
    }),
  )
  .output(z.object({ users: z.array(ModeratedUser), nextCursor: NextCursor }))
  .query(async ({ ctx, input: { query, ...page } }) => {
    const matches = (part: string) =>
      sql`AND (position(lower(${part}) IN lower(u.email)) > 0 OR position(lower(${part}) IN lower(u.display_name)) > 0
               OR u.id::text = lower(${part}))`;
    const { rows, nextCursor } = await readPage<ModeratedUser>(ctx.database, "users.list", {
      ...page,
      select: sql`SELECT ${moderatedUserColumns} FROM users u`,
      where: sql`u.closed_at IS NULL ${query === undefined ? empty : matches(query)}`,
    });
    return { users: rows, nextCursor };
  });
