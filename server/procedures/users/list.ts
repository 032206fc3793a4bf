import { z } from "zod";
import { findUsers } from "../../market/moderation/findUsers.ts";
import { NextCursor, PageQuery, text } from "../../schemas/common.ts";
import { ModeratedUser } from "../../schemas/moderation.ts";
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
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await findUsers(ctx.database, input);
    return { users: rows, nextCursor };
  });
