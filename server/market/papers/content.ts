import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../../services.ts";
import type { Connection } from "../../store/connection.ts";
import { wholeAccount } from "./account.ts";
import type { PendingExport } from "./exports.ts";
import { ledgerAsText } from "./ledger.ts";
import { receiptPaper, statementPaper } from "./papers.ts";
import { makePdf } from "./pdf/makePdf.ts";
import { numberReceipts, type Receipt, type ReceiptSubject, readReceipt } from "./receipts.ts";
import { readStatement, statementAsCsv } from "./statements.ts";

interface File {
  fileName: string;
  content: Uint8Array;
}

/** Returns an export's file. */
export async function contentOf(services: Services, wanted: PendingExport): Promise<File> {
  const { database, clock, settings } = services;
  const { kind, format, userId, month } = wanted;
  const today = clock.now().toISOString().slice(0, 10);
  const file = (name: string, content: string | Uint8Array) => ({
    fileName: `${name}.${format}`,
    content: typeof content === "string" ? Buffer.from(content) : content,
  });
  switch (kind) {
    case "ledger": {
      const as = format === "csv" ? "csv" : "json";
      const read = (snapshot: Connection) => bytesOf(ledgerAsText(snapshot, userId, as));
      return file(`ledger-${today}`, await database.snapshot(read));
    }
    case "account":
      return file(`account-${today}`, await bytesOf(wholeAccount(services, userId)));
    case "receipt": {
      const receipt = await numberedReceipt(services, wanted);
      const content = format === "pdf" ? await makePdf(receiptPaper(receipt, settings)) : JSON.stringify({ receipt });
      return file(`receipt-${receipt.number}`, content);
    }
    case "statement": {
      const timeZone = settings.operatorTimeZone;
      const statement = await readStatement(database, userId, { month: month ?? "", timeZone });
      if (statement === null) throw new Error(`the wallet has no statement of ${month}`);
      if (format === "csv") return file(`statement-${month}`, statementAsCsv(statement));
      if (format === "json") return file(`statement-${month}`, JSON.stringify(statement));
      return file(`statement-${month}`, await makePdf(await statementPaper(services, userId, statement)));
    }
  }
}

/** A file may be larger than the longest string, and than what is left for records: its bytes are outside of the heap. */
async function bytesOf(text: AsyncIterable<string>): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  for await (const piece of text) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

const NUMBERED_WITHIN_MS = 5_000;

/** A receipt is numbered within a second of its payment, unless another transaction that began before it is still under way. */
async function numberedReceipt(services: Services, subject: ReceiptSubject): Promise<Receipt> {
  for (let waitedMs = 0; ; waitedMs += 100) {
    const receipt = await readReceipt(services.database, subject);
    if (receipt !== null) return receipt;
    if (waitedMs > NUMBERED_WITHIN_MS) throw new Error("the receipt has no number yet");
    await numberReceipts(services);
    if (waitedMs > 0) await sleep(100);
  }
}
