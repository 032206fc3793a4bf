import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { openCheckout, recordTopup } from "../../market/topups/checkout.ts";
import { Currency } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

/**
 * Opens a hosted checkout page. The top-up's row is stored first, and its id serves as reference and idempotency key,
 * so that every later event finds its top-up. The wallet is credited once the processor reports the payment.
 */
export const topup = sessionOnly
  .meta({
    rest: { method: "POST", path: "/wallet/topup" },
    summary: "Top up the wallet",
    errors: ["processor_unavailable"],
  })
  .input(z.strictObject({ amountCents: z.int().min(500).max(100_000).meta({ description: "Integer cents." }) }))
  .output(
    z.object({ checkoutUrl: z.string().meta({ description: "Redirect the browser here." }), sessionId: z.string() }),
  )
  .mutation(async ({ ctx, input }) => {
    const { publicUrl } = ctx.settings;
    const topup = await ctx.database.transaction((tx) =>
      recordTopup(
        tx,
        {
          userId: ctx.userId,
          amountCents: input.amountCents,
          currency: Currency,
          successUrl: `${publicUrl}/topup/done`,
          cancelUrl: `${publicUrl}/topup/cancelled`,
        },
        ctx.clock.now(),
      ),
    );
    const session = await openCheckout(ctx, topup);
    if (session.url === null) throw new ApiError("processor_unavailable");
    return { checkoutUrl: session.url, sessionId: session.id };
  });
