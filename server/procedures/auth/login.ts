import { z } from "zod";
import { verifyPassword } from "../../auth/passwords.ts";
import { assertSecondFactor, countCodeAttempt, hasSecondFactor } from "../../auth/secondFactor.ts";
import { startSession } from "../../auth/sessions.ts";
import { ApiError } from "../../errors.ts";
import { FactorCode } from "../../schemas/secondFactor.ts";
import { canonicalEmail, PasswordAttempt, User } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { anyone } from "../../trpc.ts";

/**
 * Neither the response to a wrong password nor its timing reveals whether the account exists or has a second factor.
 */
export const login = anyone
  .meta({
    rest: { method: "POST", path: "/auth/login" },
    summary: "Sign in",
    description:
      "Signs you in with email address and password, and sets the session cookie. A session lasts 14 days from its " +
      "last use. If the account has a second factor, send `code` too: without a right one, the answer to a right " +
      "password is `second_factor_required`. An unknown address and a wrong password have the same answer, " +
      "`invalid_credentials`.",
    rateGroup: "login",
    hashesPassword: true,
    errors: ["invalid_credentials", "second_factor_required"],
  })
  .input(
    z.strictObject({
      email: z
        .string()
        .max(320)
        .meta({ description: "Compared without regard to case.", format: "email", example: "ada@example.com" }),
      password: PasswordAttempt,
      code: FactorCode.optional(),
    }),
  )
  .output(z.object({ user: User.meta({ description: "You." }) }))
  .mutation(async ({ ctx, input: { code, ...input } }) => {
    const email = canonicalEmail(input.email);
    const [found] = await ctx.database.query<User & { passwordHash: string; suspended: boolean }>(sql`
      SELECT id, email, display_name AS "displayName", created_at AS "createdAt", email_verified_at AS "emailVerifiedAt", time_zone AS "timeZone",
             password_hash AS "passwordHash", suspended_at IS NOT NULL AS suspended
      FROM users WHERE email = ${email}`);
    const matches = await verifyPassword(found?.passwordHash ?? null, input.password, {
      ...ctx.client,
      account: email ?? "",
    });
    const fail = (reason: string) => {
      ctx.securityLog.refuse(ctx, "login.failed", { userId: found?.id ?? null, reason });
      return new ApiError("invalid_credentials");
    };
    if (!found) throw fail("unknown email");
    if (!matches) throw fail("wrong password");
    if (found.suspended) throw fail("suspended");
    if (code !== undefined) await countCodeAttempt(ctx.database, ctx, found.id, code);
    const sessionId = await ctx.database
      .transaction(async (tx) => {
        const secondFactor = await hasSecondFactor(tx, found.id);
        await assertSecondFactor(tx, ctx, found.id, code);
        const sessionId = await startSession(tx, found.id, ctx.clock.now(), { secondFactor, client: ctx.client });
        // The user is locked now. A change of the password that came first has ended the sessions of the old one.
        const [current] = await tx.query(sql`
          SELECT 1 FROM users WHERE id = ${found.id}::uuid AND password_hash = ${found.passwordHash}`);
        if (!current) throw fail("wrong password");
        return sessionId;
      })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        // Suspended or closed since the password was checked.
        if (error.code === "unauthenticated") throw fail("suspended");
        if (error.code === "second_factor_required") {
          ctx.securityLog.refuse(ctx, "login.failed", { userId: found.id, reason: "second factor" });
        }
        throw error;
      });
    ctx.securityLog.record(ctx, "login.succeeded", { userId: found.id });
    await ctx.sessionCookie.set(sessionId);
    return { user: found };
  });
