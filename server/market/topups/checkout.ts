import { ProcessorRefused } from "../../gateways/processorErrors.ts";
import type { CheckoutSession } from "../../gateways/processorRecords.ts";
import type { CreateTask } from "../../schemas/task.ts";
import type { Services } from "../../services.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { lockUser } from "../../store/userLock.ts";
import { firstCheckAt } from "./schedule.ts";

/** Source: docs/contract.md "Limits". */
const MAX_OPEN_TOPUPS = 100;
/** After this long the call to the processor has ended, so a top-up that still has no session needs a check. */
const UNANSWERED_SECONDS = 15;

/** The parameters of the call that opens a checkout page; stored, so that the same call can be repeated. */
export interface TopupRecord {
  id: string;
  userId: string;
  amountCents: number;
  currency: string;
  successUrl: string;
  cancelUrl: string;
  /** What is posted once it is paid; null for nothing. */
  forTask: CreateTask | null;
}

export const topupColumns = sql`
  id, user_id AS "userId", amount_cents AS "amountCents", currency, success_url AS "successUrl", cancel_url AS "cancelUrl",
  for_task AS "forTask"`;

/**
 * Stores a top-up before its checkout page is opened, or returns the one with this id that an earlier attempt has stored.
 * An id of null stands for a new one. Nobody is refused: while the user has more than 100 open ones, the
 * oldest are marked, and the next check expires them at the processor.
 */
export async function recordTopup(
  tx: Transaction,
  topup: Omit<TopupRecord, "id"> & { id: string | null },
  now: Date,
): Promise<TopupRecord> {
  const { id, userId, amountCents, currency, successUrl, cancelUrl, forTask } = topup;
  const unanswered = new Date(now.getTime() + UNANSWERED_SECONDS * 1000).toISOString();
  await lockUser(tx, userId);
  const recorded = await queryOne<TopupRecord>(
    tx,
    sql`
    INSERT INTO topups (id, user_id, amount_cents, currency, success_url, cancel_url, for_task, next_check_at)
    VALUES (coalesce(${id}::uuid, uuid_v7()), ${userId}::uuid, ${amountCents}, ${currency}, ${successUrl}, ${cancelUrl},
            ${forTask && JSON.stringify(forTask)}::jsonb, ${unanswered}::timestamptz)
    ON CONFLICT (id) DO UPDATE SET next_check_at = topups.next_check_at
    RETURNING ${topupColumns}`,
  );
  await tx.query(sql`
    UPDATE topups SET expire_requested_at = ${now.toISOString()}::timestamptz, next_check_at = ${now.toISOString()}::timestamptz,
           updated_at = service_now()
    WHERE status = 'created' AND expire_requested_at IS NULL AND id IN (
      SELECT id FROM topups WHERE user_id = ${userId}::uuid AND status = 'created' AND expire_requested_at IS NULL
      ORDER BY created_at DESC OFFSET ${MAX_OPEN_TOPUPS})`);
  return recorded;
}

/**
 * Opens a top-up's checkout page. The idempotency key derives from the top-up's id, so a repeated call, even after a
 * crash, returns the session of the first. A definite refusal closes the top-up. Throws ProcessorUnavailable or
 * ProcessorRefused.
 */
export async function openCheckout(services: Services, topup: TopupRecord): Promise<CheckoutSession> {
  const { database, processor } = services;
  const { id: topupId, forTask: _, ...parameters } = topup;
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
  const nextCheckAt = firstCheckAt(clock.now(), settings);
  await connection.query(sql`
    UPDATE topups SET session_id = ${session.id}, expires_at = to_timestamp(${session.expiresAt}),
           checkout_url = coalesce(${session.url}, checkout_url), updated_at = service_now(),
           next_check_at = CASE WHEN expire_requested_at IS NULL THEN ${nextCheckAt}::timestamptz ELSE next_check_at END
    WHERE id = ${id}::uuid`);
}

/** Closes a top-up that nobody has paid. */
export async function closeTopup(connection: Connection, topupId: string, status: "failed" | "expired"): Promise<void> {
  await connection.query(sql`
    UPDATE topups SET status = ${status}, updated_at = service_now()
    WHERE id = ${topupId}::uuid AND status IN ('created', 'processing')`);
}
