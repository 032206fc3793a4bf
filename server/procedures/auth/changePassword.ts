import { z } from "zod";
import { voidResetTokens } from "../../auth/accountTokens.ts";
import { assertUncommon } from "../../auth/commonPasswords.ts";
import { hashPassword, verifyPassword } from "../../auth/passwords.ts";
import { endSessions } from "../../auth/sessions.ts";
import { ApiError } from "../../errors.ts";
import { Password, PasswordAttempt } from "../../schemas/user.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

/** Changes the caller's password, and ends every session but the caller's. */
export const changePassword = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/password", status: 204 },
    summary: "Change the password",
    description: "Ends the caller's other sessions. API keys stay valid.",
    // Counted like a login: a stolen session must not buy further attempts at the password.
    rateGroup: "login",
    hashesPassword: true,
    // What is kept of an input is a fast hash, from which a password could be guessed.
    ignoresIdempotencyKey: true,
    errors: ["invalid_credentials"],
  })
  .input(z.strictObject({ currentPassword: PasswordAttempt, newPassword: Password }))
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    const { principal } = ctx;
    assertUncommon(ctx.isCommonPassword, input.newPassword, "newPassword");
    const { email, oldHash } = await queryOne<{ email: string; oldHash: string }>(
      ctx.database,
      sql`SELECT email, password_hash AS "oldHash" FROM users WHERE id = ${ctx.userId}::uuid`,
    );
    const origin = { ...ctx.client, account: email };
    const wrong = () => new ApiError("invalid_credentials", { message: "The current password is wrong." });
    if (!(await verifyPassword(oldHash, input.currentPassword, origin))) throw wrong();
    const newHash = await hashPassword(input.newPassword, origin);
    await ctx.database.transaction(async (tx) => {
      const [changed] = await tx.query(sql`
        UPDATE users SET password_hash = ${newHash}
        WHERE id = ${ctx.userId}::uuid AND password_hash = ${oldHash} RETURNING 1`);
      if (!changed) throw wrong(); // another change was faster
      await endSessions(tx, ctx.userId, principal.kind === "session" ? principal.sessionId : null);
      await voidResetTokens(tx, ctx.userId, ctx.clock.now());
    });
  });
