import { z } from "zod";
import type { Processor } from "../gateways/processor.ts";
import type { ProcessorBalanceTransaction, ProcessorPayout, ProcessorTransfer } from "../gateways/processorRecords.ts";
import type { PayoutState } from "../market/payouts/rules.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { Discrepancy } from "./discrepancy.ts";

const TOPUPS = "top-ups agree with the processor's payments";
const TRANSFERS = "payouts agree with the processor's transfers";
const PAYOUTS = "payouts agree with the processor's payouts to banks";
const REVERSALS = "refunds and disputes agree with the processor's balance";

export const processorChecks: readonly string[] = [TOPUPS, TRANSFERS, PAYOUTS, REVERSALS];

interface Books {
  database: Connection;
  processor: Processor;
}

const RECHECKS = 5;
const RECHECK_PAUSE_MS = 3_000;
/** Rows and the processor's objects are made at slightly different times, so we list a little further back. */
const MARGIN_SECONDS = 3_600;

/**
 * Compares our rows since `since` (null: all) with the processor's lists. The two cannot be read at one moment, so what
 * does not agree is read again, some seconds apart: news under way arrive, and only what never agreed counts. Throws
 * ProcessorUnavailable or ProcessorRefused.
 */
export async function compareWithProcessor(books: Books, since: Date | null): Promise<Discrepancy[]> {
  let found = await compareOnce(books, since);
  for (let again = 0; again < RECHECKS && found.length > 0; again++) {
    await new Promise((resume) => setTimeout(resume, RECHECK_PAUSE_MS));
    const now = new Set((await compareOnce(books, since)).map(keyOf));
    found = found.filter((discrepancy) => now.has(keyOf(discrepancy)));
  }
  return found;
}

const keyOf = ({ check, subject }: Discrepancy) => `${check} ${subject}`;

/** The comparison without a second look: what is under way may not agree yet. */
export async function compareOnce(books: Books, since: Date | null): Promise<Discrepancy[]> {
  const sinceSeconds = since === null ? 0 : Math.max(0, Math.floor(since.getTime() / 1000) - MARGIN_SECONDS);
  const from = (since ?? new Date(0)).toISOString();
  return [
    ...(await compareTopups(books, from, sinceSeconds)),
    ...(await comparePayouts(books, from, sinceSeconds)),
    ...(await compareReversals(books, since === null, sinceSeconds)),
  ];
}

const isOurId = (id: string | null): id is string => z.uuid().safeParse(id).success;

async function compareTopups({ database, processor }: Books, from: string, since: number): Promise<Discrepancy[]> {
  const payments = new Map<string, { amountCents: number | null; sessions: number }>();
  for await (const { topupId, amountCents } of processor.listCheckoutPayments(since)) {
    // A payment without a reference of ours is other business of the same processor account.
    if (!isOurId(topupId)) continue;
    const sessions = (payments.get(topupId)?.sessions ?? 0) + 1;
    payments.set(topupId, { amountCents, sessions });
  }
  const rows = await database.query<{ id: string; amountCents: number; status: string }>(sql`
    SELECT id, amount_cents AS "amountCents", status FROM topups
    WHERE (status = 'paid' AND created_at >= ${from}::timestamptz) OR id = ANY (${[...payments.keys()]}::uuid[])`);
  const topups = new Map(rows.map((row) => [row.id, row]));
  const found: Discrepancy[] = [];
  const report = (id: string, expected: string, actual: string) =>
    found.push({ check: TOPUPS, subject: `top-up ${id}`, expected, actual });
  for (const [id, { amountCents, sessions }] of payments) {
    const topup = topups.get(id);
    if (topup?.status !== "paid") report(id, `credited ${amountCents}`, topup?.status ?? "unknown here");
    else if (topup.amountCents !== amountCents) report(id, `${amountCents}`, `${topup.amountCents}`);
    if (sessions > 1) report(id, "one paid session", `${sessions}`);
  }
  for (const { id, amountCents } of rows) if (!payments.has(id)) report(id, "no credit", `credited ${amountCents}`);
  return found;
}

/** What the processor may say of a payout in each state; that one has arrived is only news, and costs nobody a cent. */
const statusesOf = {
  created: [],
  unfunded: [],
  transferred: [],
  settling: [],
  sent: ["pending", "in_transit", "paid"],
  paid: ["paid"],
  returning: ["failed", "canceled"],
  failed: ["failed", "canceled"],
} satisfies Record<PayoutState, string[]>;

interface PayoutRow {
  id: string;
  accountId: string;
  amountCents: number;
  state: PayoutState;
}

async function comparePayouts({ database, processor }: Books, from: string, since: number): Promise<Discrepancy[]> {
  const transfers = new Map<string, ProcessorTransfer[]>();
  for await (const transfer of processor.listTransfers(since)) {
    if (!isOurId(transfer.transferGroup)) continue;
    transfers.set(transfer.transferGroup, [...(transfers.get(transfer.transferGroup) ?? []), transfer]);
  }
  const rows = await database.query<PayoutRow>(sql`
    SELECT id, account_id AS "accountId", amount_cents AS "amountCents", state FROM payouts
    WHERE created_at >= ${from}::timestamptz OR id = ANY (${[...transfers.keys()]}::uuid[])`);
  const payouts = new Map<string, ProcessorPayout[]>();
  for (const accountId of new Set(rows.map((row) => row.accountId))) {
    for await (const payout of processor.listPayouts(accountId, since)) {
      const id = payout.payoutId ?? "";
      payouts.set(id, [...(payouts.get(id) ?? []), payout]);
    }
  }
  const found: Discrepancy[] = [];
  const known = new Set(rows.map(({ id }) => id));
  for (const id of transfers.keys()) {
    if (!known.has(id))
      found.push({ check: TRANSFERS, subject: `payout ${id}`, expected: "a payout", actual: "unknown here" });
  }
  for (const row of rows) {
    const subject = `payout ${row.id} (${row.state})`;
    const transfer = expectedTransfer(row, transfers.get(row.id) ?? []);
    if (transfer !== null) found.push({ check: TRANSFERS, subject, ...transfer });
    const payout = expectedPayout(row, payouts.get(row.id) ?? []);
    if (payout !== null) found.push({ check: PAYOUTS, subject, ...payout });
  }
  return found;
}

type Difference = { expected: string; actual: string } | null;

/** What has left the platform for a payout must be what left the wallet, and be back when the wallet has it back. */
function expectedTransfer({ state, amountCents, accountId }: PayoutRow, transfers: ProcessorTransfer[]): Difference {
  const [transfer, ...others] = transfers;
  const actual =
    transfers.map((t) => `${t.amountCents} to ${t.accountId}, ${t.reversedCents} reversed`).join("; ") || "none";
  if (others.length > 0) return { expected: "one transfer", actual };
  const mayHaveNone = state === "created" || state === "unfunded" || state === "failed";
  if (transfer === undefined) return mayHaveNone ? null : { expected: `${amountCents} to ${accountId}`, actual };
  const reversedCents = state === "failed" ? amountCents : 0;
  const agrees =
    transfer.amountCents === amountCents &&
    transfer.accountId === accountId &&
    transfer.reversedCents === reversedCents;
  return agrees ? null : { expected: `${amountCents} to ${accountId}, ${reversedCents} reversed`, actual };
}

function expectedPayout({ state, amountCents }: PayoutRow, payouts: ProcessorPayout[]): Difference {
  const [payout, ...others] = payouts;
  const actual = payouts.map(({ amountCents: cents, status }) => `${cents}, ${status}`).join("; ") || "none";
  if (others.length > 0) return { expected: "one payout", actual };
  const statuses: readonly string[] = statusesOf[state];
  const expected = `${amountCents}, ${statuses.join(" or ") || "none yet"}`;
  if (payout === undefined) return state === "sent" || state === "paid" ? { expected, actual } : null;
  const agrees = payout.amountCents === amountCents && statuses.includes(payout.status);
  return agrees ? null : { expected, actual };
}

/** The ledger's reference for what a refund or dispute did to the platform's balance; null for any other movement. */
function referenceOf({ id, sourceKind, sourceId, amountCents }: ProcessorBalanceTransaction): string | null {
  // By what is behind it and not by its type, of which slow payment methods, such as bank debits, have their own.
  if (sourceKind === "dispute") return `dispute:${sourceId}:${id}`;
  if (sourceKind !== "refund") return null;
  return amountCents < 0 ? `refund:${sourceId}` : `refund:${sourceId}:failed`;
}

/** What refunds and disputes of our top-ups did to the platform's balance, by the references that the ledger gives them. */
async function compareReversals({ database, processor }: Books, all: boolean, since: number): Promise<Discrepancy[]> {
  const listed: { reference: string; paymentIntentId: string | null; amountCents: number }[] = [];
  for await (const transaction of processor.listBalanceTransactions(null, since)) {
    const reference = referenceOf(transaction);
    const { paymentIntentId, amountCents } = transaction;
    if (reference !== null) listed.push({ reference, paymentIntentId, amountCents });
  }
  const payments = await database.query<{ id: string }>(sql`
    SELECT payment_intent_id AS id FROM topups
    WHERE payment_intent_id = ANY (${listed.map(({ paymentIntentId }) => paymentIntentId)}::text[])`);
  // What belongs to no top-up is other business of the same processor account.
  const ours = new Set<string | null>(payments.map(({ id }) => id));
  const movements = new Map(
    listed.filter(({ paymentIntentId }) => ours.has(paymentIntentId)).map((m) => [m.reference, m.amountCents]),
  );
  const rows = await database.query<{ reference: string; cents: number }>(sql`
    SELECT t.external_ref AS reference, -e.amount_cents AS cents
    FROM ledger_transfers t JOIN ledger_entries e ON e.transfer_id = t.id AND e.bucket = 'outside'
    WHERE (${all} AND e.kind IN ('topup_refund', 'chargeback')) OR t.external_ref = ANY (${[...movements.keys()]}::text[])`);
  const booked = new Map(rows.map(({ reference, cents }) => [reference, cents]));
  const found: Discrepancy[] = [];
  for (const reference of new Set([...movements.keys(), ...booked.keys()])) {
    const [expected, actual] = [movements.get(reference) ?? 0, booked.get(reference) ?? 0];
    if (expected !== actual)
      found.push({ check: REVERSALS, subject: reference, expected: `${expected}`, actual: `${actual}` });
  }
  return found;
}
