import { z } from "zod";
import { disputeReader, listDisputes } from "../../market/disputes/records.ts";
import { InputTimestamp, listOf, NextCursor, PageQuery, plainCursor } from "../../schemas/common.ts";
import { disputeStatuses } from "../../schemas/dispute.ts";
import { DisputeListItem } from "../../schemas/excerpts.ts";
import { nextCursorOf } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

/** Oldest first because moderators use this as a work list. It is the only list in this order. */
export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/disputes" },
    summary: "List disputes",
    description:
      "Lists the disputes of your own tasks, and all disputes in a moderator's session. **Oldest first**: a page " +
      "contains the disputes strictly newer than `cursor`, so a walk ends with the newest. `GET /disputes/{id}` has " +
      "what is needed to decide one.",
  })
  .input(
    PageQuery.extend({
      cursor: InputTimestamp.meta({
        ...plainCursor,
        description:
          "Returns the rows strictly newer than this. Take it from the previous page's `nextCursor`; omit it for the first page.",
      }).optional(),
      status: listOf(disputeStatuses, "Disputes with one of these statuses; all by default.").optional(),
    }),
  )
  .output(
    z.object({ disputes: z.array(DisputeListItem).meta({ description: "Oldest first." }), nextCursor: NextCursor }),
  )
  .query(async ({ ctx, input }) => {
    const { cursor, limit, status } = input;
    const reader = disputeReader(ctx.principal, ctx.settings);
    const disputes = await listDisputes(ctx.database, { reader, statuses: status, cursor, limit });
    return { disputes, nextCursor: nextCursorOf(disputes, limit) };
  });
