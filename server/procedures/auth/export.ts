import { z } from "zod";
import { exportAccount } from "../../market/papers/account.ts";
import { AccountExport, ExportPosition, readPosition } from "../../schemas/accountExport.ts";
import { sessionOnly } from "../../trpc.ts";

export const exportData = sessionOnly
  .meta({
    rest: { method: "GET", path: "/auth/export" },
    summary: "Export my data",
    description:
      "Returns everything that the service knows about you, without secrets: long texts are whole, and files are " +
      "described, not included. A document larger than 200 kB comes in parts, and `nextPart` leads to the next one.",
    rateGroup: "export",
  })
  .input(z.strictObject({ after: ExportPosition.optional() }).meta({ id: "ExportAccount" }))
  .output(AccountExport)
  .query(({ ctx, input: { after } }) =>
    exportAccount(ctx, ctx.userId, after === undefined ? null : readPosition(after)),
  );
