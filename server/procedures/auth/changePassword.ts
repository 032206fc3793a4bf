import { z } from "zod";
import { voidResetTokens } from "../../auth/accountTokens.ts";
import { assertUncommon } from "../../auth/commonPasswords.ts";
import { hashPassword } from "../../auth/passwords.ts";
import { assertPassword } from "../../auth/reauthenticate.ts";
import { endSessions } from "../../auth/sessions.ts";
import { ApiError } from "../../errors.ts";
import type { Person } from "../../schemas/common.ts";
import { Password, PasswordAttempt } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const changePassword = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/password", status: 204 },
    summary: "Change my password",
    description:
      "Changes your password, after checking the current one, and ends your other sessions. API keys stay valid.",
    // Counted like a login: a stolen session must not buy further attempts at the password.
    rateGroup: "login",
    hashesPassword: true,
    ignoresIdempotencyKey: true,
    errors: ["invalid_credentials"],
  })
  .input(
    z.strictObject({
      currentPassword: PasswordAttempt,
      newPassword: Password.meta({ example: "an even longer password" }),
    }),
  )
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    const { principal } = ctx;
    assertUncommon(ctx.isCommonPassword, input.newPassword, "newPassword");
    const oldHash = await assertPassword(ctx, input.currentPassword);
    const newHash = await hashPassword(input.newPassword, { ...ctx.client, account: ctx.userId });
    await ctx.database.transaction(async (tx) => {
      const [user] = await tx.query<Person>(sql`
        UPDATE users SET password_hash = ${newHash}
        WHERE id = ${ctx.userId}::uuid AND password_hash = ${oldHash}
        RETURNING id, display_name AS "displayName"`);
      // Another change was faster.
      if (!user) throw new ApiError("invalid_credentials", { message: "The current password is wrong." });
      await endSessions(tx, ctx.userId, principal.kind === "session" ? principal.sessionId : null);
      await voidResetTokens(tx, ctx.userId, ctx.clock.now());
      tx.events.record("password.changed", { user }, [ctx.userId]);
      tx.onCommit(() => ctx.securityLog.record(ctx, "password.changed"));
    });
  });
