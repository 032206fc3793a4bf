import { Currency } from "../../schemas/common.ts";
import type { Statement } from "../../schemas/statement.ts";
import type { Services, Settings } from "../../services.ts";
import { queryOne, sql } from "../../store/connection.ts";
import type { Block, Paper } from "./pdf/paper.ts";
import type { Operator, Receipt } from "./receipts.ts";

type PaperSettings = Pick<Settings, "operatorPaper" | "operatorTimeZone" | "publicUrl">;

const money = (cents: number) =>
  new Intl.NumberFormat("en", { style: "currency", currency: Currency }).format(cents / 100);

const timeOf = (timestamp: string, timeZone: string) =>
  new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long", timeZone }).format(new Date(timestamp));

/** Who runs the service; its address where there is no name. */
function linesOf({ name, address, taxId }: Operator, publicUrl: string): string[] {
  return [name ?? "", ...(address?.split(/\n|\\n/) ?? []), taxId === null ? "" : `Tax ID: ${taxId}`, publicUrl].filter(
    (line) => line !== "",
  );
}

/** Without the operator's name, address and tax ID, no law takes it for an invoice. */
const invoiceNote = ({ name, address, taxId }: Operator) =>
  name !== null && address !== null && taxId !== null ? "" : "This is no VAT invoice. ";

const titles = {
  task: "Receipt for a task",
  topup: "Receipt for a top-up",
  payout: "Receipt for a payout",
} as const;

/** What a receipt says on paper. */
export function receiptPaper(receipt: Receipt, settings: PaperSettings): Paper {
  const { number, kind, paidAt, amountCents, title, priceCents, payer, payee, operator } = receipt;
  const rows: (readonly [string, string])[] = [
    ["Number", number],
    ["Paid", timeOf(paidAt, settings.operatorTimeZone)],
  ];
  const service = operator.name ?? settings.publicUrl;
  rows.push(["From", payer === null ? service : `${payer.displayName}\n${payer.id}`]);
  rows.push(["To", payee === null ? service : `${payee.displayName}\n${payee.id}`]);
  if (title !== null) rows.push(["For", title]);
  rows.push(["Reference", receipt.taskId ?? receipt.topupId ?? receipt.payoutId ?? ""]);
  if (priceCents !== null && priceCents !== amountCents) rows.push(["Agreed price", money(priceCents)]);
  rows.push(["Amount", money(amountCents)]);
  return {
    ...{ size: settings.operatorPaper, title: titles[kind], at: paidAt, from: linesOf(operator, settings.publicUrl) },
    blocks: [{ kind: "pairs", rows }],
    note: `${invoiceNote(operator)}${kind === "task" ? "The amount is the price of the work, and includes no fee that the buyer pays." : ""}`,
  };
}

/** What a statement says on paper. */
export async function statementPaper(
  { database, settings, clock }: Pick<Services, "database" | "settings" | "clock">,
  userId: string,
  { month, opening, closing, sums, feeCents, feeTaxCents }: Statement,
): Promise<Paper> {
  const { displayName } = await queryOne<{ displayName: string }>(
    database,
    sql`SELECT display_name AS "displayName" FROM users WHERE id = ${userId}::uuid`,
  );
  const now = clock.now().toISOString();
  const balances: Block = {
    ...{ kind: "table", header: ["Balance", "Available", "Held"] },
    rows: [
      ["Opening", money(opening.availableCents), money(opening.heldCents)],
      ["Closing", money(closing.availableCents), money(closing.heldCents)],
    ],
  };
  const moved: Block = {
    ...{ kind: "table", header: ["What moved", "Bucket", "Amount"] },
    rows: sums.map(({ kind, bucket, amountCents }) => [words(kind), words(bucket), money(amountCents)]),
  };
  return {
    ...{ size: settings.operatorPaper, title: `Statement of ${month}`, at: now },
    from: linesOf(settings.operator, settings.publicUrl),
    blocks: [
      {
        kind: "pairs",
        rows: [
          ["Wallet of", `${displayName}\n${userId}`],
          ["As of", timeOf(now, settings.operatorTimeZone)],
          ["Months of", settings.operatorTimeZone],
        ],
      },
      ...[balances, moved],
      {
        kind: "pairs",
        rows: [
          ["Fees", money(feeCents)],
          ["Tax in these fees", money(feeTaxCents)],
        ],
      },
    ],
    note: `${invoiceNote(settings.operator)}All numbers are those of the wallet's ledger.`,
  };
}

/** `task_earning` as people read it. */
const words = (name: string) => `${name[0]?.toUpperCase()}${name.slice(1).replaceAll("_", " ")}`;
