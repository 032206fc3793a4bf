import { z } from "zod";
import { findUsers } from "../../market/moderation/findUsers.ts";
import { NextCursor, PageQuery, text } from "../../schemas/common.ts";
import { ModeratedUser } from "../../schemas/moderation.ts";
import { moderator } from "../../trpc.ts";

export const list = moderator
  .meta({
    rest: { method: "GET", path: "/users" },
    summary: "List users",
    description:
      "Lists users for moderators, newest first. `query` finds a part of the email address or of the display name, " +
      "or a whole id. Closed accounts are left out.",
  })
  .input(
    PageQuery.extend({
      query: text(1, 320)
        .meta({
          description: "Part of the email address or of the display name, in any case; or the whole id.",
          example: "ada",
        })
        .optional(),
    }),
  )
  .output(z.object({ users: z.array(ModeratedUser).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await findUsers(ctx.database, input);
    return { users: rows, nextCursor };
  });
