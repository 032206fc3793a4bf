import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { daysAgo, deleteInBatches } from "../store/retention.ts";
import { audit } from "./audit.ts";
import type { AuditReport } from "./report.ts";

/**
 * How far back the nightly audit compares with the processor, whose lists are slow to read. `npm run audit` compares
 * everything.
 */
const PROCESSOR_DAYS = 35;

/** An audit that could not compare with the processor is repeated after this time. */
const REPEAT_AFTER_MS = 3_600_000;

/** How long a report without discrepancies is kept; one with discrepancies is kept for good. */
const CLEAN_REPORTS_KEPT_DAYS = 365;

/** Audits the ledger and stores the result, which `/metrics` shows. */
export async function auditLedger(services: Services): Promise<void> {
  const { database, clock, log } = services;
  const since = new Date(clock.now().getTime() - PROCESSOR_DAYS * 86_400_000);
  const report = await audit(services, { since });
  await database.transaction(async (tx) => {
    await tx.query(sql`
      INSERT INTO ledger_audits (discrepancies, report) VALUES (${report.count}, ${JSON.stringify(report)}::jsonb)`);
    if (report.notCompared === null) return;
    const runAt = new Date(clock.now().getTime() + REPEAT_AFTER_MS);
    tx.jobs.add("auditLedger", {}, { runAt, key: "auditLedger again" });
  });
  await pruneReports(services);
  if (report.notCompared !== null) {
    log.warn(
      { reason: report.notCompared },
      "the ledger was not compared with the processor; the audit will be repeated",
    );
  }
  if (report.count > 0) log.error({ discrepancies: report.discrepancies }, "the ledger audit found discrepancies");
}

/** Deletes old reports that found nothing. */
export async function pruneReports({ database, clock }: Pick<Services, "database" | "clock">): Promise<void> {
  await deleteInBatches(
    database,
    (limit) => sql`
    DELETE FROM ledger_audits WHERE id IN (
      SELECT id FROM ledger_audits WHERE discrepancies = 0 AND finished_at < ${daysAgo(clock, CLEAN_REPORTS_KEPT_DAYS)}
      ORDER BY finished_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING 1`,
  );
}

/** Returns the result of the last audit; null before the first. */
export async function findLastAudit({ database }: Pick<Services, "database">) {
  const [last] = await database.query<{ discrepancies: number; report: AuditReport; finishedAt: string }>(sql`
    SELECT discrepancies, report, finished_at AS "finishedAt" FROM ledger_audits ORDER BY finished_at DESC LIMIT 1`);
  return last ?? null;
}
