import { ProcessorRefused, ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import type { CheckoutSession } from "../../gateways/processorRecords.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { closeTopup, openCheckout, recordCheckout, type TopupRecord, topupColumns } from "./checkout.ts";
import { applyCheckout, updateFromSession } from "./settle.ts";

/** How long a check reserves its top-up: longer than a call to the processor takes. */
const CHECK_LEASE_SECONDS = 30;
/** Stripe forgets idempotency keys after 24 hours, so an older call must not be repeated; two hours are the margin. */
const KEY_LIFETIME_MS = 22 * 3_600_000;
/** A checkout page can be paid for 24 hours; after this long, one without a known session is closed. */
const PAGE_LIFETIME_MS = 26 * 3_600_000;

interface UnsettledTopup extends TopupRecord {
  sessionId: string | null;
  createdAt: string;
}

/**
 * Asks the processor about a top-up that no event has settled, and applies the response like an event. If a crash kept
 * the session from being stored, the call is repeated with the same key and returns the same session. While the
 * processor is unreachable, or refuses the lookup, the top-up stays for a later check.
 */
export async function checkTopup(services: Services, { topupId }: { topupId: string }): Promise<void> {
  const { database, clock, settings, log } = services;
  const now = clock.now();
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
  const [topup] = await database.query<UnsettledTopup>(sql`
    UPDATE topups SET next_check_at = ${after(CHECK_LEASE_SECONDS)}::timestamptz
    WHERE id = ${topupId}::uuid AND status IN ('created', 'processing')
      AND next_check_at <= ${now.toISOString()}::timestamptz
    RETURNING ${topupColumns}, session_id AS "sessionId", created_at AS "createdAt"`);
  if (topup === undefined) return;
  try {
    const session = await findSession(services, topup, now.getTime() - new Date(topup.createdAt).getTime());
    if (session !== null) await database.transaction((tx) => applyCheckout(tx, updateFromSession(session)));
  } catch (error) {
    if (error instanceof ProcessorRefused) log.error({ topupId, error }, "the lookup of a top-up was refused");
    else if (!(error instanceof ProcessorUnavailable)) throw error;
  }
  await database.query(sql`
    UPDATE topups SET next_check_at = ${after(settings.processorPollSeconds / 2)}::timestamptz
    WHERE id = ${topupId}::uuid`);
}

async function findSession(
  services: Services,
  { sessionId, createdAt, ...topup }: UnsettledTopup,
  ageMs: number,
): Promise<CheckoutSession | null> {
  const { processor, database } = services;
  if (sessionId !== null) return processor.getCheckoutSession(sessionId);
  if (ageMs < KEY_LIFETIME_MS) {
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
