import { z } from "zod";
import { ensurePayoutAccount } from "../../market/payouts/accounts.ts";
import { NoInput } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

export const onboarding = sessionOnly
  .meta({
    rest: { method: "POST", path: "/payouts/onboarding" },
    summary: "Start or continue the payout onboarding",
    description:
      "Opens the payment processor's page where you enter your bank details: send the browser to `url`, which works " +
      "once. The first call creates your account at the processor; later calls continue where you left. Until the " +
      "processor has verified the details, payouts are `onboarding_incomplete`.",
    errors: ["processor_unavailable"],
    hasNoDryRun: true,
  })
  .input(NoInput)
  .output(
    z
      .object({
        url: z.string().meta({
          description: "Redirect the browser here. The link works once.",
          format: "uri",
          example: "https://connect.example.com/setup/1",
        }),
        expiresAt: z.int().meta({ description: "When the link expires, in epoch seconds.", example: 1_795_176_300 }),
      })
      .meta({ id: "OnboardingLink", description: "The page on which the payout onboarding continues." }),
  )
  .mutation(async ({ ctx }) => {
    const { publicUrl } = ctx.settings;
    const accountId = await ctx.claim(async ({ change }) => {
      const ensured = await ensurePayoutAccount(ctx, ctx.principal);
      // Repeated before every link: a crash after the account was created would otherwise skip it.
      await ctx.processor.stopAutomaticPayouts(ensured);
      return change(async () => ensured);
    });
    // The link is not kept, because it admits anyone who has it and works once. A repeat gets another one.
    return ctx.processor.createOnboardingLink({
      accountId,
      returnUrl: `${publicUrl}/onboarding/done`,
      refreshUrl: `${publicUrl}/onboarding/expired`,
    });
  });
