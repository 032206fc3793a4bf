import { z } from "zod";
import { sql } from "../../db/connection.ts";
import { ApiError } from "../../errors.ts";
import { ProcessorRefused, ProcessorUnavailable } from "../../gateways/processor.ts";
import { Currency } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

/**
 * Opens a hosted checkout page. Our row comes first and its id goes along as reference and idempotency key, so that
 * whatever the processor tells later finds its top-up. The wallet is credited when the processor says that it is paid.
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
    const [row] = await ctx.database.query<{ id: string }>(sql`
      INSERT INTO topups (user_id, amount_cents, currency)
      VALUES (${ctx.userId}::uuid, ${input.amountCents}, ${Currency}) RETURNING id`);
    if (!row) throw new Error("INSERT … RETURNING gave no row");
    const { publicUrl } = ctx.settings;
    const session = await ctx.processor
      .createCheckoutSession({
        topupId: row.id,
        userId: ctx.userId,
        amountCents: input.amountCents,
        currency: Currency,
        successUrl: `${publicUrl}/topup/done`,
        cancelUrl: `${publicUrl}/topup/cancelled`,
        idempotencyKey: `topup-${row.id}`,
      })
      .catch((error: unknown) => {
        const known = error instanceof ProcessorUnavailable || error instanceof ProcessorRefused;
        throw known ? new ApiError("processor_unavailable", {}, error) : error;
      });
    if (session.url === null) throw new ApiError("processor_unavailable");
    await ctx.database.query(sql`
      UPDATE topups SET session_id = ${session.id}, expires_at = to_timestamp(${session.expiresAt}),
             updated_at = clock_timestamp() WHERE id = ${row.id}::uuid`);
    return { checkoutUrl: session.url, sessionId: session.id };
  });
