import { z } from "zod";
import { callingProcessor, ensurePayoutAccount } from "../../market/payouts/accounts.ts";
import { NoInput } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

/** Opens the processor's onboarding page for the caller's connected account, which is made at the first call. */
export const onboarding = sessionOnly
  .meta({
    rest: { method: "POST", path: "/payouts/onboarding" },
    summary: "Start or continue the payout onboarding",
    errors: ["processor_unavailable"],
  })
  .input(NoInput)
  .output(
    z.object({
      url: z.string().meta({ description: "Redirect the browser here. The link works once." }),
      expiresAt: z.int().meta({ description: "Epoch seconds." }),
    }),
  )
  .mutation(({ ctx }) =>
    callingProcessor(async () => {
      const { publicUrl } = ctx.settings;
      const accountId = await ensurePayoutAccount(ctx, ctx.userId);
      // Before each link and not once, since we may die between the account's making and this.
      await ctx.processor.stopAutomaticPayouts(accountId);
      return ctx.processor.createOnboardingLink({
        accountId,
        returnUrl: `${publicUrl}/onboarding/done`,
        refreshUrl: `${publicUrl}/onboarding/expired`,
      });
    }),
  );
