import { z } from "zod";
import { confirmFactor } from "../../auth/secondFactor.ts";
import { Id } from "../../schemas/common.ts";
import { TotpCode } from "../../schemas/secondFactor.ts";
import { sessionOnly } from "../../trpc.ts";

/** Finishes the set-up of a second factor. From now on, a login needs a code. */
export const confirmTotp = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/totp/confirm" },
    summary: "Confirm the second factor",
    description:
      "Returns recovery codes, which are shown only here: each replaces a code once. Ends the other sessions.",
    rateGroup: "credentials",
    showsSecret: true,
    errors: ["not_found"],
  })
  .input(z.strictObject({ code: TotpCode }))
  .output(z.object({ id: Id, recoveryCodes: z.array(z.string()) }))
  .mutation(async ({ ctx, input }) => {
    const { userId, sessionId } = ctx.principal;
    let recoveryCodes: string[] = [];
    const { id } = await ctx.change(async (tx) => {
      const confirmed = await confirmFactor(tx, ctx, { userId, sessionId, code: input.code });
      recoveryCodes = confirmed.recoveryCodes;
      tx.onCommit(() => ctx.securityLog.record(ctx, "secondFactor.added"));
      return { id: confirmed.id };
    });
    return { id, recoveryCodes };
  });
