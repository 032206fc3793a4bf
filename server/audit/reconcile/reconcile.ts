import type { Services } from "../../services.ts";
import { endReconciliation, readOrigin } from "../../store/reconciliation.ts";
import { type Extent, type Finding, openBookkeeping } from "./bookkeeping.ts";
import { reconcilePayouts } from "./payouts.ts";
import { reconcileReversals } from "./reversals.ts";
import { reconcileTopups } from "./topups.ts";

/**
 * Finds what the payment processor knows since `since` (null: ever) and the books do not: top-ups that were paid, their refunds
 * and disputes, and payouts that were sent. What `extent` allows is booked, each in a transaction of its own, by the code that
 * applies the processor's events. May be repeated, die half way and run several times at once. Throws ProcessorUnavailable or
 * ProcessorRefused.
 */
export async function reconcile(
  services: Services,
  { since, extent }: { since: Date | null; extent: Extent },
): Promise<readonly Finding[]> {
  const books = openBookkeeping(services, extent);
  const sinceSeconds = since === null ? 0 : Math.floor(since.getTime() / 1000);
  const missing = await reconcileTopups(services, books, sinceSeconds);
  await reconcileReversals(services, books, sinceSeconds, missing);
  await reconcilePayouts(services, books, sinceSeconds);
  return books.findings;
}

/** Books everything, and lets payouts be sent again unless something contradicts the books. */
export async function reconcileAndResume(services: Services, since: Date | null): Promise<readonly Finding[]> {
  const origin = await readOrigin(services.database);
  const findings = await reconcile(services, { since, extent: "everything" });
  if (!findings.some(({ kind }) => kind === "contradiction")) await endReconciliation(services.database, origin);
  return findings;
}
