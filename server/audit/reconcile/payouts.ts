import { ProcessorRefused } from "../../gateways/processorErrors.ts";
import type { ProcessorPayout, ProcessorTransfer } from "../../gateways/processorRecords.ts";
import { applied, type EventOutcome, unexpected } from "../../market/eventOutcome.ts";
import { adoptPayout } from "../../market/payouts/adopt.ts";
import { applyPayoutEvent, applyTransferEvent } from "../../market/payouts/events.ts";
import { unfinishedPayoutStates } from "../../market/payouts/unfinished.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { isOurId } from "../ourId.ts";
import { type Bookkeeping, combined } from "./bookkeeping.ts";

/** A payout in the books. */
interface KnownPayout {
  id: string;
  userId: string;
  accountId: string;
  amountCents: number;
  isUnfinished: boolean;
}

/** What the processor knows of a payout. */
interface SentPayout {
  id: string;
  transfer: ProcessorTransfer;
  payouts: ProcessorPayout[];
}

/**
 * Brings every payout to the state that the processor has it in, and books those that were sent and are not in the books.
 * `since` is in epoch seconds; unfinished payouts are looked up whenever they were sent.
 */
export async function reconcilePayouts(services: Services, books: Bookkeeping, since: number): Promise<void> {
  const { database, processor } = services;
  const transfers = new Map<string, ProcessorTransfer[]>();
  for await (const transfer of processor.listTransfers(since)) addTo(transfers, transfer.transferGroup, transfer);
  const rows = await database.query<KnownPayout>(sql`
    SELECT id, user_id AS "userId", account_id AS "accountId", amount_cents AS "amountCents",
           state = ANY (${[...unfinishedPayoutStates]}::text[]) AS "isUnfinished"
    FROM payouts WHERE id = ANY (${[...transfers.keys()]}::uuid[]) OR state = ANY (${[...unfinishedPayoutStates]}::text[])`);
  const known = new Map(rows.map((row) => [row.id, row]));
  for (const { id } of rows.filter(({ id, isUnfinished }) => isUnfinished && !transfers.has(id))) {
    for (const transfer of await processor.findTransfers(id)) addTo(transfers, id, transfer);
  }
  const payouts = new Map<string, ProcessorPayout[]>();
  for (const accountId of new Set([...transfers.values()].flat().map((transfer) => transfer.accountId))) {
    if (accountId === null) continue;
    for await (const payout of processor.listPayouts(accountId, since)) addTo(payouts, payout.payoutId, payout);
  }
  for (const [id, [transfer, ...others]] of transfers) {
    if (transfer === undefined) continue;
    const row = known.get(id);
    const listed = payouts.get(id) ?? [];
    const made = listed.length === 0 && row?.isUnfinished ? await processor.findPayouts(row.accountId, id) : listed;
    if (others.length === 0) await reconcilePayout(services, books, row, { id, transfer, payouts: made });
    else books.note({ kind: "contradiction", subject: `payout ${id}`, detail: `${others.length + 1} transfers` });
  }
}

/** Adds a record of the processor's under our payout's id; without one of ours, it is about something else on its account. */
function addTo<Item>(lists: Map<string, Item[]>, id: string | null, item: Item): void {
  if (isOurId(id)) lists.set(id, [...(lists.get(id) ?? []), item]);
}

async function reconcilePayout(
  services: Services,
  books: Bookkeeping,
  row: KnownPayout | undefined,
  sent: SentPayout,
): Promise<void> {
  const { id, transfer } = sent;
  const { accountId, amountCents, currency, reversedCents } = transfer;
  const userId = row?.userId ?? (accountId === null ? null : await findOwner(services, accountId));
  const subject = `payout ${id} of ${amountCents} ${currency} to ${accountId}, user ${userId ?? "unknown"}`;
  if (accountId === null || userId === null) {
    if (reversedCents < amountCents) books.note({ kind: "unknownUser", subject, detail: transfer.transferId });
    return;
  }
  const book = async (tx: Transaction) => {
    if (row !== undefined && (row.amountCents !== amountCents || row.accountId !== accountId))
      return unexpected(`booked as ${row.amountCents} to ${row.accountId}`);
    const isNew = row === undefined && (await adoptPayout(tx, { id, userId, accountId, transfer }));
    return combined([...(isNew ? [applied("debited")] : []), ...(await applyFacts(tx, accountId, sent, services))]);
  };
  await books.book(subject, book, row !== undefined);
}

/** Applies what the processor knows, in the form of its events. */
async function applyFacts(
  tx: Transaction,
  accountId: string,
  { id, transfer, payouts }: SentPayout,
  services: Services,
): Promise<EventOutcome[]> {
  const { transferId, reversedCents } = transfer;
  const transferred = { id: transferId, amount_reversed: reversedCents, transfer_group: id };
  const outcomes = [await applyTransferEvent(tx, transferred, services)];
  for (const { id: payoutId, status, failureCode, failureMessage } of payouts) {
    const failure = { failure_code: failureCode, failure_message: failureMessage };
    const snapshot = { id: payoutId, status, metadata: { payoutId: id }, ...failure };
    outcomes.push(await applyPayoutEvent(tx, accountId, snapshot, services));
  }
  return outcomes;
}

/** The user that a connected account was made for; null if the books know none. */
async function findOwner({ database, processor }: Services, accountId: string): Promise<string | null> {
  const [account] = await database.query<{ userId: string }>(sql`
    SELECT user_id AS "userId" FROM payout_accounts WHERE account_id = ${accountId}`);
  if (account !== undefined) return account.userId;
  const made = await processor.getAccount(accountId).catch((error: unknown) => {
    if (error instanceof ProcessorRefused) return null; // It no longer exists.
    throw error;
  });
  if (!isOurId(made?.userId ?? null)) return null;
  const [user] = await database.query<{ id: string }>(sql`SELECT id FROM users WHERE id = ${made?.userId}::uuid`);
  return user?.id ?? null;
}
