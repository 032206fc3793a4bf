import { z } from "zod";
import { assertPassword } from "../../auth/reauthenticate.ts";
import { assertSecondFactor, countCodeAttempt } from "../../auth/secondFactor.ts";
import { closeAccount } from "../../market/accounts/close.ts";
import { FactorCode } from "../../schemas/secondFactor.ts";
import { PasswordAttempt } from "../../schemas/user.ts";
import { sessionOnly } from "../../trpc.ts";

export const close = sessionOnly
  .meta({
    rest: { method: "DELETE", path: "/auth/me", status: 204, takesBody: true },
    summary: "Close my account",
    description:
      "Closes your account for good, if nothing is unfinished and no money is left; otherwise the answer is " +
      "`account_in_use`, and `open` says why. Sessions, API keys and webhook endpoints are deleted, others' records " +
      "show “Deleted user”, and the address can sign up again. `GET /auth/export` has your data.",
    rateGroup: "credentials",
    hashesPassword: true,
    ignoresIdempotencyKey: true,
    errors: ["invalid_credentials", "second_factor_required", "account_in_use"],
  })
  .input(z.strictObject({ password: PasswordAttempt, code: FactorCode.optional() }).meta({ id: "CloseAccount" }))
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    await assertPassword(ctx, input.password);
    if (input.code !== undefined) await countCodeAttempt(ctx.database, ctx, ctx.userId, input.code);
    await ctx.change(async (tx) => {
      await assertSecondFactor(tx, ctx, ctx.userId, input.code);
      await closeAccount(tx, ctx, ctx.userId);
      tx.onCommit(() => ctx.securityLog.record(ctx, "account.closed"));
    });
    ctx.sessionCookie.clear();
  });
