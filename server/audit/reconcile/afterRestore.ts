import { ProcessorRefused, ProcessorUnavailable } from "../../gateways/processorErrors.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { endReconciliation } from "../../store/reconciliation.ts";
import { findLasting } from "../againstProcessor.ts";
import { reconcile } from "./reconcile.ts";

/** Calls to the processor that began before a failover have ended by then, as the lease on a payout's step assumes too. */
const SETTLING_SECONDS = 30;
const REPEAT_SECONDS = 300;
/** How far back the processor's lists are read, as by the nightly audit. Unfinished payouts are looked up whatever their age. */
const COMPARED_DAYS = 35;
const MAX_LOGGED = 20;

/**
 * Compares the books with the processor after a restore or a failover, while payouts are paused. If nothing is missing, as after
 * a failover that lost nothing, they go on. Otherwise an operator books it with `npm run reconcile`. What belongs to users whom
 * the books do not know does not hold payouts up, because no payout in the books can be one of theirs. One process at a time.
 */
export async function checkAfterRestore(services: Services, recheckPauseMs?: number): Promise<void> {
  const { database, clock, log } = services;
  const now = clock.now();
  const [claim] = await database.query<{ origin: string; isNew: boolean }>(sql`
    UPDATE reconciliation_state SET noticed_origin = database_origin(), next_check_at = ${now.toISOString()}::timestamptz
      + make_interval(secs => CASE WHEN before.is_new THEN ${SETTLING_SECONDS}::int ELSE ${REPEAT_SECONDS}::int END)
    FROM (SELECT noticed_origin IS DISTINCT FROM database_origin() AS is_new FROM reconciliation_state
          WHERE needs_reconciliation()) before
    WHERE before.is_new OR next_check_at <= ${now.toISOString()}::timestamptz
    RETURNING database_origin() AS origin, before.is_new AS "isNew"`);
  if (!claim) return;
  if (claim.isNew) {
    log.warn(
      "the database was restored or has failed over: no payout is sent until the books agree with the processor",
    );
    return;
  }
  try {
    const since = new Date(now.getTime() - COMPARED_DAYS * 86_400_000);
    const findings = await findLasting(
      () => reconcile(services, { since, extent: "progress" }),
      ({ kind, subject }) => `${kind} ${subject}`,
      recheckPauseMs,
    );
    if (findings.every(({ kind }) => kind === "unknownUser")) {
      await endReconciliation(database, claim.origin);
      log.info("the books lack nothing of their users that the payment processor knows: payouts go on");
    }
    if (findings.length === 0) return;
    const report = { count: findings.length, findings: findings.slice(0, MAX_LOGGED) };
    log.error(report, "the books lack what the payment processor knows; see `npm run reconcile`");
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable) && !(error instanceof ProcessorRefused)) throw error;
    log.warn({ error }, "the books could not be compared with the payment processor; payouts stay paused");
  }
}
