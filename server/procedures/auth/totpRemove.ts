import { z } from "zod";
import { assertPassword } from "../../auth/reauthenticate.ts";
import { assertSecondFactor, countCodeAttempt, removeFactor } from "../../auth/secondFactor.ts";
import { endSessions } from "../../auth/sessions.ts";
import { ApiError } from "../../errors.ts";
import { FactorCode } from "../../schemas/secondFactor.ts";
import { PasswordAttempt } from "../../schemas/user.ts";
import { sessionOnly } from "../../trpc.ts";

export const removeTotp = sessionOnly
  .meta({
    rest: { method: "DELETE", path: "/auth/totp", status: 204, takesBody: true },
    summary: "Remove the second factor",
    description:
      "Removes the second factor and ends your other sessions. It needs the password and a code, as a full login " +
      "does; without the authenticator, send a recovery code.",
    rateGroup: "credentials",
    hashesPassword: true,
    ignoresIdempotencyKey: true,
    errors: ["invalid_credentials", "second_factor_required", "not_found"],
  })
  .input(z.strictObject({ password: PasswordAttempt, code: FactorCode.optional() }))
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    const { userId, sessionId } = ctx.principal;
    await assertPassword(ctx, input.password);
    if (input.code !== undefined) await countCodeAttempt(ctx.database, ctx, userId, input.code);
    await ctx.change(async (tx) => {
      await assertSecondFactor(tx, ctx, userId, input.code);
      if (!(await removeFactor(tx, userId))) throw new ApiError("not_found");
      await endSessions(tx, userId, sessionId);
      tx.onCommit(() => ctx.securityLog.record(ctx, "secondFactor.removed"));
    });
  });
