import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { openCheckout, recordCheckout, type TopupRecord, topupColumns } from "../../market/topups/checkout.ts";
import { Currency } from "../../schemas/common.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { type CallerContext, sessionOnly } from "../../trpc.ts";

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
    const topupId = await ctx.claim(async (claimId) => {
      const topup = await storeTopup(ctx, claimId, input.amountCents);
      const session = await openCheckout(ctx, topup);
      if (session.url === null) throw new ApiError("processor_unavailable");
      return ctx.change(async (tx) => {
        await recordCheckout(tx, ctx, topup, session);
        return topup.id;
      });
    });
    return queryOne<{ checkoutUrl: string; sessionId: string }>(
      ctx.database,
      sql`SELECT checkout_url AS "checkoutUrl", session_id AS "sessionId" FROM topups WHERE id = ${topupId}::uuid`,
    );
  });

/** Stores a top-up, or returns the one that an earlier attempt at this claim has stored. */
function storeTopup(ctx: CallerContext, claimId: string | null, amountCents: number): Promise<TopupRecord> {
  const { publicUrl } = ctx.settings;
  const firstCheckAt = new Date(ctx.clock.now().getTime() + UNANSWERED_SECONDS * 1000).toISOString();
  return queryOne<TopupRecord>(
    ctx.database,
    sql`
      INSERT INTO topups (id, user_id, amount_cents, currency, success_url, cancel_url, next_check_at)
      VALUES (coalesce(${claimId}::uuid, uuid_v7()), ${ctx.userId}::uuid, ${amountCents}, ${Currency},
              ${`${publicUrl}/topup/done`}, ${`${publicUrl}/topup/cancelled`}, ${firstCheckAt}::timestamptz)
      ON CONFLICT (id) DO UPDATE SET next_check_at = topups.next_check_at
      RETURNING ${topupColumns}`,
  );
}
