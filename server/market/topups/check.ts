import { ProcessorRefused, ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import { type CheckoutSession, PROCESSOR_KEY_HOURS } from "../../gateways/processorRecords.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { takeLease, timeOf } from "../../store/lease.ts";
import { closeTopup, openCheckout, recordCheckout, type TopupRecord, topupColumns } from "./checkout.ts";
import { firstCheckAt, nextCheckAt } from "./schedule.ts";
import { applyCheckout, updateFromSession } from "./settle.ts";

/** How long a check reserves its top-up: longer than a call to the processor takes. */
const CHECK_LEASE_SECONDS = 30;
/** A checkout page can be paid for 24 hours; after this long, one without a known session is closed. */
const PAGE_LIFETIME_MS = 26 * 3_600_000;

interface UnsettledTopup extends TopupRecord {
  sessionId: string | null;
  createdAt: string;
  expiresAt: string | null;
  /** Its user has opened too many later ones, so its page is to be closed. */
  toExpire: boolean;
}

/**
 * Asks the processor about a top-up that no event has settled, and applies the response like an event. If a crash kept
 * the session from being stored, the call is repeated with the same key and returns the same session. A page that is to
 * be expired and is still open is expired first. While the processor is unreachable, or refuses the lookup, the top-up
 * stays for a later check.
 */
export async function checkTopup(services: Services, { topupId }: { topupId: string }): Promise<void> {
  const { database, clock, settings, log } = services;
  const now = clock.now();
  const lease = {
    ...{ table: sql`topups`, column: sql`next_check_at`, seconds: CHECK_LEASE_SECONDS },
    now: timeOf(now),
  };
  const topup = await takeLease<UnsettledTopup>(database, lease, {
    row: sql`id = ${topupId}::uuid AND status IN ('created', 'processing')`,
    returning: sql`
      ${topupColumns}, session_id AS "sessionId", created_at AS "createdAt", expires_at AS "expiresAt",
      expire_requested_at IS NOT NULL AS "toExpire"`,
  });
  if (topup === null) return;
  let stillOpen = true;
  try {
    let session = await findSession(services, topup, now.getTime() - new Date(topup.createdAt).getTime());
    if (topup.toExpire && session?.status === "open") session = await expireSession(services, topup.id, session);
    if (session !== null) {
      stillOpen = session.status === "open";
      await database.transaction((tx) => applyCheckout(tx, services, updateFromSession(session)));
    }
  } catch (error) {
    if (error instanceof ProcessorRefused) log.error({ topupId, error }, "the lookup of a top-up was refused");
    else if (!(error instanceof ProcessorUnavailable)) throw error;
  }
  const next = topup.toExpire && stillOpen ? firstCheckAt(now, settings) : nextCheckAt(topup, now, settings);
  // If it was marked to be expired during this check, it is already due, and stays so.
  await database.query(sql`
    UPDATE topups SET next_check_at = ${next}::timestamptz
    WHERE id = ${topupId}::uuid AND (expire_requested_at IS NULL OR ${topup.toExpire})`);
}

/**
 * Closes a checkout page that nobody has paid, and returns its session as it is then. The processor decides between a
 * payment and the expiry: it refuses to expire a session that was paid in the meantime, which is then fetched again.
 */
async function expireSession(
  { processor }: Services,
  topupId: string,
  { id }: CheckoutSession,
): Promise<CheckoutSession> {
  try {
    return await processor.expireCheckoutSession({ sessionId: id, idempotencyKey: `topup-${topupId}-expire` });
  } catch (error) {
    if (error instanceof ProcessorRefused) return processor.getCheckoutSession(id);
    throw error;
  }
}

async function findSession(services: Services, topup: UnsettledTopup, ageMs: number): Promise<CheckoutSession | null> {
  const { processor, database } = services;
  const { sessionId, createdAt } = topup;
  if (sessionId !== null) return processor.getCheckoutSession(sessionId);
  if (ageMs < PROCESSOR_KEY_HOURS * 3_600_000) {
    const session = await openCheckout(services, topup);
    await recordCheckout(database, services, topup, session);
    return session;
  }
  // Too late to repeat the call: only a payment would prove that it succeeded.
  for await (const session of processor.listCheckoutPayments(Math.floor(new Date(createdAt).getTime() / 1000) - 60)) {
    if (session.topupId === topup.id) return session;
  }
  if (ageMs > PAGE_LIFETIME_MS) await closeTopup(database, topup.id, "expired");
  return null;
}

/** Returns top-ups that are neither paid nor closed, and due for a check. */
export function findUnsettledTopups({ database, clock }: Services, limit: number): Promise<{ topupId: string }[]> {
  return database.query<{ topupId: string }>(sql`
    SELECT id AS "topupId" FROM topups
    WHERE status IN ('created', 'processing') AND next_check_at <= ${clock.now().toISOString()}::timestamptz
    ORDER BY next_check_at LIMIT ${limit}`);
}
