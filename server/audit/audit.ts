import type { Processor } from "../gateways/processor.ts";
import { ProcessorRefused, ProcessorUnavailable } from "../gateways/processorErrors.ts";
import { type Connection, connectionOver, type Sql, sql } from "../store/connection.ts";
import type { Database } from "../store/database.ts";
import { compareWithProcessor, processorChecks } from "./againstProcessor.ts";
import { databaseChecks } from "./checks.ts";
import type { Discrepancy } from "./discrepancy.ts";
import type { AuditReport } from "./report.ts";

/** Maximum number of discrepancies that a report lists per check. */
const MAX_LISTED = 20;

/** The names of all checks. */
export const auditChecks: readonly string[] = [...Object.keys(databaseChecks), ...processorChecks];

/**
 * Checks the ledger against itself, in one snapshot of the database that blocks nobody, and then the top-ups and
 * payouts created since `since` (null: all) against the processor's records. Safe on a live service: discrepancies with
 * the processor are read again before they count. If the processor is unreachable, the report covers only the database
 * and says so.
 */
export async function audit(
  { database, processor }: { database: Database; processor: Processor },
  { since }: { since: Date | null },
): Promise<AuditReport> {
  const ownResults = await inSnapshot(database, checkDatabase);
  const compared = await compareWithProcessor({ database, processor }, since).catch(reasonNotCompared);
  const notCompared = typeof compared === "string" ? compared : null;
  const results = typeof compared === "string" ? ownResults : [...ownResults, ...resultsByCheck(compared)];
  return {
    checks: results.map(({ name, count }) => ({ name, count })),
    notCompared,
    discrepancies: results.flatMap(({ discrepancies }) => discrepancies),
    count: results.reduce((sum, { count }) => sum + count, 0),
  };
}

function reasonNotCompared(error: unknown): string {
  if (error instanceof ProcessorUnavailable) return "the processor is unreachable";
  if (error instanceof ProcessorRefused) return `the processor refused: ${error.message}`;
  throw error;
}

function resultsByCheck(found: Discrepancy[]): CheckResult[] {
  return processorChecks.map((name) => {
    const discrepancies = found.filter(({ check }) => check === name);
    return { name, count: discrepancies.length, discrepancies: discrepancies.slice(0, MAX_LISTED) };
  });
}

interface CheckResult {
  name: string;
  count: number;
  discrepancies: Discrepancy[];
}

/** Runs the checks within the database, on a connection that sees one snapshot of it. */
export async function checkDatabase(snapshot: Connection): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [name, statement] of Object.entries(databaseChecks))
    results.push(await runCheck(snapshot, name, statement));
  return results;
}

async function runCheck(connection: Connection, name: string, statement: Sql): Promise<CheckResult> {
  const rows = await connection.query<{ subject: string; expected: string; actual: string; total: number }>(sql`
    SELECT subject, expected::text, actual::text, count(*) OVER () AS total FROM (${statement}) off LIMIT ${MAX_LISTED}`);
  const discrepancies = rows.map(({ subject, expected, actual }) => ({ check: name, subject, expected, actual }));
  return { name, count: rows[0]?.total ?? 0, discrepancies };
}

async function inSnapshot<Result>(
  database: Database,
  work: (snapshot: Connection) => Promise<Result>,
): Promise<Result> {
  const client = await database.pool.connect();
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    // A check reads whole tables, which takes as long as it takes.
    await client.query("SET LOCAL statement_timeout = 0");
    return await work(connectionOver(client));
  } finally {
    const failure = await client.query("ROLLBACK").then(
      () => undefined,
      (error: Error) => error,
    );
    client.release(failure);
  }
}
