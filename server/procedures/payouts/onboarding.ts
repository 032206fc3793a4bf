import { z } from "zod";
import { ensurePayoutAccount } from "../../market/payouts/accounts.ts";
import { NoInput } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

/** Opens the processor's onboarding page for the caller's connected account, which the first call creates. */
export const onboarding = sessionOnly
  .meta({
    rest: { method: "POST", path: "/payouts/onboarding" },
    summary: "Start or continue the payout onboarding",
    errors: ["processor_unavailable"],
    hasNoDryRun: true,
  })
  .input(NoInput)
  .output(
    z.object({
      url: z.string().meta({ description: "Redirect the browser here. The link works once." }),
      expiresAt: z.int().meta({ description: "Epoch seconds." }),
    }),
  )
  .mutation(async ({ ctx }) => {
    const { publicUrl } = ctx.settings;
    const accountId = await ctx.claim(async () => {
      const ensured = await ensurePayoutAccount(ctx, ctx.principal);
      // Repeated before every link: a crash after the account was created would otherwise skip it.
      await ctx.processor.stopAutomaticPayouts(ensured);
      return ctx.change(async () => ensured);
    });
    // The link is not kept: it admits whoever has it, and works once. A repeat gets another one.
    return ctx.processor.createOnboardingLink({
      accountId,
      returnUrl: `${publicUrl}/onboarding/done`,
      refreshUrl: `${publicUrl}/onboarding/expired`,
    });
  });
