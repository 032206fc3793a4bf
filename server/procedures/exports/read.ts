import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { exportColumns, shownTo, signExport } from "../../market/papers/exports.ts";
import { idOf } from "../../schemas/common.ts";
import { Export, type ExportRecord } from "../../schemas/export.ts";
import { sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

export const read = signedIn
  .meta({
    rest: { method: "GET", path: "/exports/{id}" },
    summary: "Read an export",
    description:
      "Returns one of your exports, with a `downloadUrl` once it is `ready`. After 7 days it is `not_found`; so is another user's, " +
      "and for an API key that of the whole account.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("export") }))
  .output(z.object({ export: Export.meta({ description: "The export." }) }))
  .query(async ({ ctx, input }) => {
    const [found] = await ctx.database.query<ExportRecord>(sql`
      SELECT ${exportColumns} FROM exports x
      WHERE x.id = ${input.id}::uuid AND x.user_id = ${ctx.userId}::uuid AND ${shownTo(ctx)}`);
    if (!found) throw new ApiError("not_found");
    return { export: await signExport(ctx, found) };
  });
