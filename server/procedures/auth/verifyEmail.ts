import { z } from "zod";
import { takeToken } from "../../auth/accountTokens.ts";
import { ApiError } from "../../errors.ts";
import { AccountToken } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { anyone } from "../../trpc.ts";

export const verifyEmail = anyone
  .meta({
    rest: { method: "POST", path: "/auth/email/verify", status: 204 },
    summary: "Verify an email address with a mailed link",
    description:
      "Records that the address belongs to its owner, who has the token of the mail that was sent to it. A token " +
      "works once, for a day. No session is needed, and nothing waits for a verified address.",
    rateGroup: "recovery",
    errors: ["invalid_token"],
  })
  .input(z.strictObject({ token: AccountToken }))
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.database.transaction(async (tx) => {
      const token = await takeToken(tx, "verify_email", input.token, ctx.clock.now());
      if (token === null) throw new ApiError("invalid_token");
      await tx.query(sql`
        UPDATE users SET email_verified_at = service_now()
        WHERE id = ${token.userId}::uuid AND email_verified_at IS NULL`);
      tx.onCommit(() => ctx.securityLog.record(ctx, "email.verified", { userId: token.userId }));
    }),
  );
