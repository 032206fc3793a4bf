import { z } from "zod";
import { readDisputeCases } from "../../market/disputes/records.ts";
import { disputeReader } from "../../market/disputes/rules.ts";
import { InputTimestamp, listOf, NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { DisputeCase, disputeStatuses } from "../../schemas/dispute.ts";
import { signedIn } from "../../trpc.ts";

/**
 * A work list, and so the one list that runs the other way: oldest first, and a page holds the disputes strictly
 * younger than its cursor. `nextCursor` is the timestamp of the last row, as everywhere.
 */
export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/disputes" },
    summary: "List disputes",
    description:
      "A moderator's session sees all disputes, anyone else those of their own tasks, each with what is needed to " +
      "decide. **Oldest first**: a page holds the disputes strictly younger than `cursor`, so a walk ends with the newest.",
  })
  .input(
    PageQuery.extend({
      cursor: InputTimestamp.optional().meta({
        description:
          "Gives the rows strictly younger than this; take it from `nextCursor`. Omit it for the first page.",
      }),
      status: listOf(disputeStatuses).optional(),
    }),
  )
  .output(z.object({ disputes: z.array(DisputeCase), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const { cursor, limit, status } = input;
    const filter = { cursor, limit, statuses: status?.split(",") };
    const disputes = await readDisputeCases(ctx, { ...disputeReader(ctx.principal), ...filter });
    return { disputes, nextCursor: nextCursorOf(disputes, limit) };
  });
