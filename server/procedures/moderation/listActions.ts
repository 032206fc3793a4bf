import { z } from "zod";
import { actionColumns, actionTables } from "../../market/moderation/actions.ts";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { ModerationAction } from "../../schemas/moderation.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { moderator } from "../../trpc.ts";

export const listActions = moderator
  .meta({
    rest: { method: "GET", path: "/moderation/actions" },
    summary: "List what moderators did",
    description:
      "Lists what moderators and operators did, newest first: who, when, to whom and why. Only moderators can read " +
      "it, and nobody can change it.",
  })
  .input(PageQuery.meta({ id: "ListModerationActions" }))
  .output(
    z.object({ actions: z.array(ModerationAction).meta({ description: "Newest first." }), nextCursor: NextCursor }),
  )
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<ModerationAction>(ctx.database, "moderation.listActions", {
      ...input,
      select: sql`SELECT ${actionColumns} FROM ${actionTables}`,
      where: sql`true`,
    });
    return { actions: rows, nextCursor };
  });
