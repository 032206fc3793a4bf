import { z } from "zod";
import { isValidToken, takeToken, voidResetTokens } from "../../auth/accountTokens.ts";
import { assertUncommon } from "../../auth/commonPasswords.ts";
import { hashPassword } from "../../auth/passwords.ts";
import { ApiError } from "../../errors.ts";
import { reclaimAccount } from "../../market/accounts/reclaim.ts";
import type { Person } from "../../schemas/common.ts";
import { AccountToken, Password } from "../../schemas/user.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { anyone } from "../../trpc.ts";

export const resetPassword = anyone
  .meta({
    rest: { method: "POST", path: "/auth/password/reset", status: 204 },
    summary: "Choose a new password with a mailed link",
    description:
      "Sets a new password with the token of a mailed link, which works once, for an hour. It ends all sessions and " +
      "revokes all API keys, so that no one else stays signed in. It also removes the webhook endpoints, payout account " +
      "and second factor that were set up before the address was first verified.",
    rateGroup: "recovery",
    hashesPassword: true,
    errors: ["invalid_token"],
  })
  .input(z.strictObject({ token: AccountToken, newPassword: Password.meta({ example: "an even longer password" }) }))
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    const now = ctx.clock.now();
    if (!(await isValidToken(ctx.database, "reset_password", input.token, now))) throw new ApiError("invalid_token");
    assertUncommon(ctx.isCommonPassword, input.newPassword, "newPassword");
    const passwordHash = await hashPassword(input.newPassword, { ...ctx.client, account: input.token });
    await ctx.database.transaction(async (tx) => {
      const token = await takeToken(tx, "reset_password", input.token, now);
      if (token === null) throw new ApiError("invalid_token");
      const { userId, wasMailed } = token;
      const user = await queryOne<Person>(
        tx,
        sql`
        UPDATE users SET password_hash = ${passwordHash} WHERE id = ${userId}::uuid
        RETURNING id, display_name AS "displayName"`,
      );
      const { revokedKeyIds } = await reclaimAccount(tx, userId, { now, byMail: wasMailed });
      if (wasMailed) {
        await tx.query(sql`
          UPDATE users SET email_verified_at = service_now()
          WHERE id = ${userId}::uuid AND email_verified_at IS NULL`);
      }
      await voidResetTokens(tx, userId, now);
      tx.events.record("password.changed", { user }, [userId]);
      tx.onCommit(() => ctx.securityLog.record(ctx, "password.reset", { userId, revokedKeyIds }));
    });
  });
