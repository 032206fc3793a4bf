import { z } from "zod";
import { requestMail } from "../../auth/accountMails.ts";
import { assertUncommon } from "../../auth/commonPasswords.ts";
import { hashPassword } from "../../auth/passwords.ts";
import { startSession } from "../../auth/sessions.ts";
import { ApiError } from "../../errors.ts";
import { DisplayName, Email, Password, User } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { anyone } from "../../trpc.ts";

export const signup = anyone
  .meta({
    rest: { method: "POST", path: "/auth/signup", status: 201 },
    summary: "Create an account",
    description:
      "Creates an account and signs you in: the response sets the session cookie. A mail asks you to verify the " +
      "address; nothing waits for that. An address that has an account already is `email_taken`.",
    rateGroup: "signup",
    hashesPassword: true,
    errors: ["email_taken"],
  })
  .input(z.strictObject({ email: Email, password: Password, displayName: DisplayName }))
  .output(z.object({ user: User.meta({ description: "You." }) }))
  .mutation(async ({ ctx, input }) => {
    assertUncommon(ctx.isCommonPassword, input.password, "password");
    const passwordHash = await hashPassword(input.password, { ...ctx.client, account: input.email });
    const { user, sessionId } = await ctx.database.transaction(async (tx) => {
      const [user] = await tx.query<User>(sql`
        INSERT INTO users (email, password_hash, display_name)
        VALUES (${input.email}, ${passwordHash}, ${input.displayName})
        ON CONFLICT (email) DO NOTHING
        RETURNING id, email, display_name AS "displayName", created_at AS "createdAt",
                  email_verified_at AS "emailVerifiedAt", time_zone AS "timeZone"`);
      if (!user) throw new ApiError("email_taken");
      await requestMail(tx, "verify_email", user.email, ctx.clock.now());
      return { user, sessionId: await startSession(tx, user.id, ctx.clock.now(), { client: ctx.client }) };
    });
    ctx.securityLog.record(ctx, "account.created", { userId: user.id });
    await ctx.sessionCookie.set(sessionId);
    return { user };
  });
