import { z } from "zod";
import { confirmFactor } from "../../auth/secondFactor.ts";
import { idOf } from "../../schemas/common.ts";
import { TotpCode } from "../../schemas/secondFactor.ts";
import { sessionOnly } from "../../trpc.ts";

export const confirmTotp = sessionOnly
  .meta({
    rest: { method: "POST", path: "/auth/totp/confirm" },
    summary: "Confirm the second factor",
    description:
      "Finishes the set-up of the second factor with the authenticator's first code. From then on, signing in needs " +
      "a code. Returns ten recovery codes, each of which replaces a code once; they appear only here. Your other " +
      "sessions end.",
    rateGroup: "credentials",
    ignoresIdempotencyKey: true,
    errors: ["not_found"],
  })
  .input(z.strictObject({ code: TotpCode }))
  .output(
    z.object({
      id: idOf("second factor"),
      recoveryCodes: z.array(z.string()).meta({
        description: "Each replaces a code once. Keep them where the authenticator is not.",
        example: ["k3vq-7m2x-tz9d"],
      }),
    }),
  )
  .mutation(async ({ ctx, input }) => {
    const { userId, sessionId } = ctx.principal;
    let recoveryCodes: string[] = [];
    const { id } = await ctx.change(async (tx) => {
      const confirmed = await confirmFactor(tx, ctx, { userId, sessionId, code: input.code });
      recoveryCodes = confirmed.recoveryCodes;
      tx.onCommit(() => ctx.securityLog.record(ctx, "secondFactor.added"));
      return { id: confirmed.id };
    });
    return { id, recoveryCodes };
  });
