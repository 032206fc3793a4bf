import { z } from "zod";
import { OurId } from "../../gateways/snapshots.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { applied, type EventOutcome, ignored, notOurs, unexpected } from "../eventOutcome.ts";
import { failureOf } from "./failures.ts";
import { type FactDetails, lockPayout, type PayoutRecord, recordPayoutFact } from "./records.ts";
import { factOfPayoutStatus, type PayoutFact } from "./rules.ts";

const PayoutSnapshot = z.object({
  id: z.string(),
  status: z.string(),
  metadata: z.object({ payoutId: OurId }).nullish(),
  failure_code: z.string().nullish(),
  failure_message: z.string().nullish(),
});

const TransferSnapshot = z.object({
  id: z.string(),
  amount_reversed: z.int(),
  transfer_group: OurId,
});

/** Applies a `payout.*` event of a connected account. The state machine ignores what is already outdated. */
export async function applyPayoutEvent(
  tx: Transaction,
  accountId: string | null,
  data: unknown,
  services: Services,
): Promise<EventOutcome> {
  const snapshot = PayoutSnapshot.safeParse(data).data;
  if (snapshot === undefined) return unexpected("not a payout");
  // The metadata holds our own id: the event may arrive before the response to the call that created the payout.
  const payout = await lockPayout(
    tx,
    sql`account_id = ${accountId ?? ""}
      AND (processor_payout_id = ${snapshot.id} OR id = ${snapshot.metadata?.payoutId ?? null}::uuid)`,
  );
  if (payout === null) return notOurs;
  if (payout.processorPayoutId !== null && payout.processorPayoutId !== snapshot.id) {
    return unexpected(`${snapshot.id} is a second payout for ${payout.id}, after ${payout.processorPayoutId}`);
  }
  const { id: processorPayoutId, status, failure_code: failureCode = null, failure_message: message = null } = snapshot;
  const failure = failureOf({ status, failureCode, failureMessage: message });
  return applyFact(tx, payout, factOfPayoutStatus(status), { processorPayoutId, failure }, services);
}

/** Applies a `transfer.*` event: the transfer exists, or it was reversed, by us or by hand. */
export async function applyTransferEvent(tx: Transaction, data: unknown, services: Services): Promise<EventOutcome> {
  const snapshot = TransferSnapshot.safeParse(data).data;
  if (snapshot === undefined) return unexpected("not a transfer");
  const payout = await lockPayout(tx, sql`transfer_id = ${snapshot.id} OR id = ${snapshot.transfer_group}::uuid`);
  if (payout === null) return notOurs;
  if (payout.transferId !== null && payout.transferId !== snapshot.id) {
    return unexpected(`${snapshot.id} is a second transfer for ${payout.id}, after ${payout.transferId}`);
  }
  if (snapshot.amount_reversed > 0 && snapshot.amount_reversed < payout.amountCents) {
    return unexpected(`${snapshot.amount_reversed} of ${payout.amountCents} cents reversed for ${payout.id}`);
  }
  const fact = snapshot.amount_reversed > 0 ? "transferReversed" : "transferMade";
  return applyFact(tx, payout, fact, { transferId: snapshot.id }, services);
}

async function applyFact(
  tx: Transaction,
  payout: PayoutRecord,
  fact: PayoutFact,
  details: FactDetails,
  services: Services,
): Promise<EventOutcome> {
  const state = await recordPayoutFact(tx, payout, fact, details, services);
  return state === payout.state ? ignored(state) : applied(state);
}
