import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { addExport } from "../../market/papers/exports.ts";
import { assertFits } from "../../market/papers/subjects.ts";
import { CreateExport, Export } from "../../schemas/export.ts";
import { lockUser } from "../../store/userLock.ts";
import { signedIn } from "../../trpc.ts";

export const create = signedIn
  .meta({
    rest: { method: "POST", path: "/exports", status: 202 },
    summary: "Ask for a file",
    description:
      "Makes a file of your ledger, of a month of your wallet, of a payment or of your whole account, in the background. Read the export, or wait " +
      "for the event `export.ready`, until it is `ready` and has a `downloadUrl`. It is deleted after 7 days. At most five " +
      "exports of a user are unfinished at the same time.",
    errors: ["not_found", "wrong_status", "limit_reached"],
  })
  .input(CreateExport)
  .output(z.object({ export: Export.meta({ description: "The new export." }) }))
  .mutation(({ ctx, input }) => {
    if (input.kind === "account" && ctx.principal.kind !== "session") {
      throw new ApiError("forbidden", { message: "Only a browser session may ask for the whole account." });
    }
    return ctx.change(async (tx) => {
      await lockUser(tx, ctx.userId);
      await assertFits(tx, ctx, input);
      return { export: await addExport(tx, ctx, input) };
    });
  });
