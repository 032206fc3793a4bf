import type { Services } from "../../services.ts";
import { wholeAccount } from "../accounts/export.ts";
import type { PendingExport } from "./exports.ts";
import { ledgerAsCsv, readEntries } from "./ledger.ts";
import { readStatement, statementAsCsv } from "./statements.ts";

/** Returns an export's file. */
export async function contentOf(
  services: Services,
  wanted: PendingExport,
): Promise<{ fileName: string; content: Uint8Array }> {
  const { database, clock } = services;
  const { kind, format, userId, month } = wanted;
  const today = clock.now().toISOString().slice(0, 10);
  const file = (name: string, text: string) => ({ fileName: `${name}.${format}`, content: Buffer.from(text) });
  if (kind === "ledger") {
    const entries = await database.snapshot((snapshot) => readEntries(snapshot, userId));
    return file(`ledger-${today}`, format === "csv" ? ledgerAsCsv(entries) : JSON.stringify({ entries }));
  }
  if (kind === "account") return file(`account-${today}`, JSON.stringify(await wholeAccount(services, userId)));
  const timeZone = services.settings.operatorTimeZone;
  const statement = await readStatement(database, userId, { month: month ?? "", timeZone });
  if (statement === null) throw new Error(`the wallet has no statement of ${month}`);
  return file(`statement-${month}`, format === "csv" ? statementAsCsv(statement) : JSON.stringify(statement));
}
