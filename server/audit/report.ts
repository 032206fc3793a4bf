import { processorChecks } from "./againstProcessor.ts";
import type { Discrepancy } from "./discrepancy.ts";

export interface AuditReport {
  /** Every check that ran, in order, with the number of its discrepancies. */
  checks: { name: string; count: number }[];
  /** Why the checks against the processor have no result; null if they have one. */
  notCompared: string | null;
  /** At most 20 per check. */
  discrepancies: Discrepancy[];
  /** The number of all discrepancies, listed or not. */
  count: number;
}

/** Returns the report as text: one check per line, then the discrepancies. */
export function printReport(report: AuditReport): string {
  const lines = report.checks.map(
    ({ name, count }) => `${count === 0 ? "ok " : "BAD"} ${name}${count ? `: ${count}` : ""}`,
  );
  for (const name of report.notCompared === null ? [] : processorChecks) {
    lines.push(`??  ${name}: not compared: ${report.notCompared}`);
  }
  for (const { check, subject, expected, actual } of report.discrepancies) {
    lines.push(`    ${subject}: ${actual}, should be ${expected} (${check})`);
  }
  lines.push(conclusionOf(report));
  return lines.join("\n");
}

function conclusionOf({ count, notCompared }: AuditReport): string {
  if (notCompared === null) return count === 0 ? "The ledger is right to the cent." : `${count} discrepancies.`;
  const inside = count === 0 ? "The database agrees with itself" : `${count} discrepancies in the database`;
  return `${inside}; whether it agrees with the processor is not known.`;
}
