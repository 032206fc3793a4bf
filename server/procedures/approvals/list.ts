import { z } from "zod";
import { ownedBy } from "../../auth/approvals/decide.ts";
import {
  type ApprovalRow,
  approvalColumns,
  approvalTables,
  statusAt,
  toApproval,
} from "../../auth/approvals/records.ts";
import { Approval, approvalStatuses } from "../../schemas/approval.ts";
import { listOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { join, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/approvals" },
    summary: "List approvals",
    description:
      "Lists what your API keys have asked you, newest first, as it is at this moment. An API key sees only what it has asked itself.",
  })
  .input(
    PageQuery.extend({
      status: listOf(approvalStatuses, "Approvals with one of these statuses; all by default.").optional(),
    }),
  )
  .output(z.object({ approvals: z.array(Approval).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input: { status, ...page } }) => {
    const now = ctx.clock.now();
    const conditions = [
      ...(ctx.principal.kind === "apiKey" ? [ownedBy(ctx.principal)] : []),
      ...(status === undefined ? [] : [sql`${statusAt(now)} = ANY (${status}::text[])`]),
    ];
    const { rows, nextCursor } = await readPage<ApprovalRow>(ctx.database, "approvals.list", {
      select: sql`SELECT ${approvalColumns(now)} FROM ${approvalTables}`,
      where: sql`a.user_id = ${ctx.userId}::uuid`,
      ...(conditions.length > 0 && { filter: join(conditions, " AND ") }),
      ...page,
    });
    return { approvals: rows.map(toApproval), nextCursor };
  });
