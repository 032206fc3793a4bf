import { z } from "zod";
import { exportColumns, shownTo } from "../../market/papers/exports.ts";
import { NextCursor, PageQuery } from "../../schemas/common.ts";
import { ExportRecord } from "../../schemas/export.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/exports" },
    summary: "List my exports",
    description:
      "Lists the files that you asked for within 7 days, newest first, without links. An API key does not see those of the whole account.",
  })
  .input(PageQuery.meta({ id: "ListExports" }))
  .output(
    z
      .object({ exports: z.array(ExportRecord).meta({ description: "Newest first." }), nextCursor: NextCursor })
      .meta({ id: "ListExportsResponse", description: "A page of exports." }),
  )
  .query(async ({ ctx, input }) => {
    const { rows, nextCursor } = await readPage<ExportRecord>(ctx.database, "exports.list", {
      ...input,
      select: sql`SELECT ${exportColumns} FROM exports x`,
      where: sql`x.user_id = ${ctx.userId}::uuid`,
      filter: shownTo(ctx),
    });
    return { exports: rows, nextCursor };
  });
