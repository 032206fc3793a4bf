import { ApiError } from "../../errors.ts";
import { Currency } from "../../schemas/common.ts";
import type { Services } from "../../services.ts";
import { type Connection, queryOne, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

/** How many one statement numbers. */
const BATCH = 200;

/** What a receipt is about: exactly one of these. */
export interface ReceiptSubject {
  taskId?: string | null | undefined;
  topupId?: string | null | undefined;
  payoutId?: string | null | undefined;
}

interface Side {
  id: string;
  displayName: string;
}

/** Who ran the service when the receipt was numbered. */
export interface Operator {
  name: string | null;
  address: string | null;
  taxId: string | null;
}

/** A receipt as its JSON has it. Both sides of a task have the same. */
export interface Receipt {
  number: string;
  kind: "task" | "topup" | "payout";
  paidAt: string;
  currency: string;
  amountCents: number;
  taskId: string | null;
  topupId: string | null;
  payoutId: string | null;
  /** Of a task: what it is called, and the price that was agreed on. */
  title: string | null;
  priceCents: number | null;
  payer: Side | null;
  payee: Side | null;
  operator: Operator;
}

const isAbout = ({ taskId, topupId, payoutId }: ReceiptSubject): Sql => {
  if (taskId) return sql`r.task_id = ${taskId}::uuid`;
  return topupId ? sql`r.topup_id = ${topupId}::uuid` : sql`r.payout_id = ${payoutId ?? null}::uuid`;
};

/** The number of `receipts r`, as papers have it. */
export const numberColumn: Sql = sql`r.year || '-' || lpad(r.number::text, 6, '0')`;

/** Numbers the receipts of what has been paid. Any number of processes may do so; they take turns. */
export async function numberReceipts({ database, settings }: Pick<Services, "database" | "settings">): Promise<void> {
  const operator = JSON.stringify(settings.operator);
  let numbered: number;
  do {
    ({ numbered } = await queryOne<{ numbered: number }>(
      database,
      sql`
      SELECT CASE WHEN EXISTS (SELECT FROM receipts WHERE number IS NULL)
             THEN number_receipts(${settings.operatorTimeZone}, ${operator}::jsonb, ${BATCH}) ELSE 0 END AS numbered`,
    ));
  } while (numbered === BATCH);
}

/** Of each kind: who may have its receipt and whether it was paid, and what notes that for good. */
const subjects = {
  taskId: {
    find: (id: Sql, user: Sql) => sql`
      SELECT status IN ('accepted', 'resolved') AS "isPaid" FROM tasks
      WHERE id = ${id} AND ${user} IN (buyer_id, awarded_bidder_id)`,
    note: (id: Sql) => sql`SELECT note_receipt_of_task(${id})`,
  },
  topupId: {
    find: (id: Sql, user: Sql) => sql`
      SELECT status = 'paid' AS "isPaid" FROM topups WHERE id = ${id} AND user_id = ${user}`,
    note: (id: Sql) => sql`SELECT note_receipt_of_topup(${id})`,
  },
  payoutId: {
    // A bank may send back what it once had.
    find: (id: Sql, user: Sql) => sql`
      SELECT paid_at IS NOT NULL AS "isPaid" FROM payouts WHERE id = ${id} AND user_id = ${user}`,
    note: (id: Sql) => sql`SELECT note_receipt_of_payout(${id})`,
  },
};

/**
 * Throws unless this person may have a receipt of it: `not_found` where it is another's, `wrong_status` where nothing was paid. What was
 * paid before there were receipts is noted here, to be numbered.
 */
export async function assertReceipt(tx: Transaction, userId: string, subject: ReceiptSubject): Promise<void> {
  for (const [name, { find, note }] of Object.entries(subjects)) {
    const id = subject[name as keyof ReceiptSubject]; // the keys of a literal are its type's keys
    if (!id) continue;
    const [found] = await tx.query<{ isPaid: boolean }>(find(sql`${id}::uuid`, sql`${userId}::uuid`));
    if (!found) throw new ApiError("not_found");
    if (found.isPaid) await tx.query(note(sql`${id}::uuid`));
  }
  const noted = await tx.query(sql`
    SELECT FROM receipts r WHERE ${isAbout(subject)} AND receipt_paid_at(r) IS NOT NULL`);
  if (noted.length > 0) return;
  throw new ApiError("wrong_status", { message: "Nothing was paid for this, so there is no receipt." });
}

type Row = Omit<Receipt, "currency" | "payer" | "payee"> & {
  payerId: string | null;
  payerName: string | null;
  payeeId: string | null;
  payeeName: string | null;
};

/** Reads a numbered receipt; null while it has no number. */
export async function readReceipt(connection: Connection, subject: ReceiptSubject): Promise<Receipt | null> {
  const [row] = await connection.query<Row>(sql`
    SELECT ${numberColumn} AS number, r.paid_at AS "paidAt", r.operator,
           CASE WHEN r.task_id IS NOT NULL THEN 'task' WHEN r.topup_id IS NOT NULL THEN 'topup' ELSE 'payout' END AS kind,
           r.task_id AS "taskId", r.topup_id AS "topupId", r.payout_id AS "payoutId", t.title, b.price_cents AS "priceCents",
           r.payer_id AS "payerId", r.payer_name AS "payerName", r.payee_id AS "payeeId", r.payee_name AS "payeeName",
           coalesce(u.amount_cents, p.amount_cents, (
             SELECT -e.amount_cents FROM ledger_entries e JOIN ledger_transfers x ON x.id = e.transfer_id
             WHERE e.user_id = r.payer_id AND e.created_at = r.paid_at AND e.kind = 'task_payment' AND x.task_id = r.task_id
           )) AS "amountCents"
    FROM receipts r LEFT JOIN tasks t ON t.id = r.task_id LEFT JOIN bids b ON b.id = t.awarded_bid_id
    LEFT JOIN topups u ON u.id = r.topup_id LEFT JOIN payouts p ON p.id = r.payout_id
    WHERE r.number IS NOT NULL AND ${isAbout(subject)}`);
  if (!row) return null;
  const { payerId, payerName, payeeId, payeeName, number, kind, paidAt, amountCents, operator, ...rest } = row;
  return {
    ...{ number, kind, paidAt, currency: Currency, amountCents, ...rest },
    payer: sideOf(payerId, payerName),
    payee: sideOf(payeeId, payeeName),
    operator,
  };
}

const sideOf = (id: string | null, displayName: string | null): Side | null =>
  id === null || displayName === null ? null : { id, displayName };
