import { z } from "zod";
import { assertPassword } from "../../auth/reauthenticate.ts";
import { addPendingFactor } from "../../auth/secondFactor.ts";
import { generateTotp } from "../../auth/totp.ts";
import { Id } from "../../schemas/common.ts";
import { PasswordAttempt } from "../../schemas/user.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

/** Begins to set up a second factor. Nothing changes for logins until a code has confirmed it. */
export const startTotp = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/totp" },
    summary: "Set up a second factor",
    description:
      "Returns the secret for an authenticator app, as text and as the address that a QR code shows. It is shown only here. " +
      "`POST /auth/totp/confirm` finishes the set-up with the app's first code; until then, another call replaces the secret.",
    rateGroup: "credentials",
    hashesPassword: true,
    showsSecret: true,
    errors: ["invalid_credentials", "second_factor_exists"],
  })
  .input(z.strictObject({ password: PasswordAttempt }))
  .output(z.object({ id: Id, secret: z.string(), otpauthUrl: z.string() }))
  .mutation(async ({ ctx, input }) => {
    await assertPassword(ctx, input.password);
    const { email } = await queryOne<{ email: string }>(
      ctx.database,
      sql`SELECT email FROM users WHERE id = ${ctx.userId}::uuid`,
    );
    const { secret, otpauthUrl } = generateTotp(email);
    const { id } = await ctx.change(async (tx) => ({ id: await addPendingFactor(tx, ctx, ctx.userId, secret) }));
    return { id, secret, otpauthUrl };
  });
