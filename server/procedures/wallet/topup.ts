import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { openCheckout, type TopupRecord, topupColumns } from "../../market/topups/checkout.ts";
import { Currency } from "../../schemas/common.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

/** After this long the call to the processor has ended, so a top-up that still has no session needs a check. */
const UNANSWERED_SECONDS = 15;

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
    const firstCheckAt = new Date(ctx.clock.now().getTime() + UNANSWERED_SECONDS * 1000).toISOString();
    const row = await queryOne<TopupRecord>(
      ctx.database,
      sql`
        INSERT INTO topups (user_id, amount_cents, currency, success_url, cancel_url, next_check_at)
        VALUES (${ctx.userId}::uuid, ${input.amountCents}, ${Currency}, ${`${publicUrl}/topup/done`},
                ${`${publicUrl}/topup/cancelled`}, ${firstCheckAt}::timestamptz)
        RETURNING ${topupColumns}`,
    );
    const session = await openCheckout(ctx, row);
    if (session.url === null) throw new ApiError("processor_unavailable");
    return { checkoutUrl: session.url, sessionId: session.id };
  });
