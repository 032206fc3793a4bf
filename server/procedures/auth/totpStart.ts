import { z } from "zod";
import { assertPassword } from "../../auth/reauthenticate.ts";
import { addPendingFactor } from "../../auth/secondFactor.ts";
import { generateTotp } from "../../auth/totp.ts";
import { idOf } from "../../schemas/common.ts";
import { PasswordAttempt } from "../../schemas/user.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const startTotp = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/totp" },
    summary: "Set up a second factor",
    description:
      "Begins to set up a second factor: returns the secret for an authenticator app, as text and as the address " +
      "that a QR code shows. The secret appears only here. `POST /auth/totp/confirm` finishes the set-up with the " +
      "app's first code; until then nothing changes for logins, and another call replaces the secret.",
    rateGroup: "credentials",
    hashesPassword: true,
    ignoresIdempotencyKey: true,
    errors: ["invalid_credentials", "second_factor_exists"],
  })
  .input(z.strictObject({ password: PasswordAttempt }))
  .output(
    z.object({
      id: idOf("second factor"),
      secret: z.string().meta({ description: "In base32, for typing it into the app.", example: "JBSWY3DPEHPK3PXP" }),
      otpauthUrl: z.string().meta({
        description: "For the QR code that the app scans.",
        format: "uri",
        example: "otpauth://totp/Rebid:ada@example.com?secret=JBSWY3DPEHPK3PXP&issuer=Rebid",
      }),
    }),
  )
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
