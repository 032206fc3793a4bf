import { ProcessorRefused } from "../../gateways/processorErrors.ts";
import type { CheckoutSession } from "../../gateways/processorRecords.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";

/** The parameters of the call that opens a checkout page; stored, so that the same call can be repeated. */
export interface TopupRecord {
  id: string;
  userId: string;
  amountCents: number;
  currency: string;
  successUrl: string;
  cancelUrl: string;
}

export const topupColumns = sql`
  id, user_id AS "userId", amount_cents AS "amountCents", currency, success_url AS "successUrl", cancel_url AS "cancelUrl"`;

/**
 * Opens a top-up's checkout page. The idempotency key derives from the top-up's id, so a repeated call, even after a
 * crash, returns the session of the first. A definite refusal closes the top-up. Throws ProcessorUnavailable or
 * ProcessorRefused.
 */
export async function openCheckout(services: Services, topup: TopupRecord): Promise<CheckoutSession> {
  const { database, processor } = services;
  const { id: topupId, ...parameters } = topup;
  return processor
    .createCheckoutSession({ topupId, ...parameters, idempotencyKey: `topup-${topupId}` })
    .catch(async (error: unknown) => {
      if (error instanceof ProcessorRefused) await closeTopup(database, topupId, "failed");
      throw error;
    });
}

/** Stores the session that `openCheckout` has opened. */
export async function recordCheckout(
  connection: Connection,
  { clock, settings }: Pick<Services, "clock" | "settings">,
  { id }: TopupRecord,
  session: CheckoutSession,
): Promise<void> {
  const nextCheckAt = new Date(clock.now().getTime() + settings.processorPollSeconds * 500).toISOString();
  await connection.query(sql`
    UPDATE topups SET session_id = ${session.id}, expires_at = to_timestamp(${session.expiresAt}),
           checkout_url = coalesce(${session.url}, checkout_url), next_check_at = ${nextCheckAt}::timestamptz,
           updated_at = clock_timestamp()
    WHERE id = ${id}::uuid`);
}

/** Closes a top-up that nobody has paid. */
export async function closeTopup(connection: Connection, topupId: string, status: "failed" | "expired"): Promise<void> {
  await connection.query(sql`
    UPDATE topups SET status = ${status}, updated_at = clock_timestamp()
    WHERE id = ${topupId}::uuid AND status IN ('created', 'processing')`);
}
