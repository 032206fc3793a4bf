import { ApiError, type ErrorCode } from "../errors.ts";
import { type Connection, join, type Sql, sql } from "./connection.ts";
import { asOverdraft, Overdraft } from "./databaseErrors.ts";

/** Why money moved: the task, and the bid if there is one. */
interface Reason {
  taskId: string;
  bidId?: string | null;
}

/** The two kinds of movement from `held` back to `available`. */
type ReturnKind = "hold_release" | "dispute_refund";
/**
 * `topup_refund` and `chargeback` return what was taken before, after a refund failed or a dispute was won. `adjustment` is
 * the money that the seed command creates.
 */
type IncomingKind = "topup" | "payout_reversal" | "topup_refund" | "chargeback" | "adjustment";
/** `payout`: one that was sent and is not in the books. */
type ClawBackKind = "topup_refund" | "chargeback" | "payout";

/** One side of a movement between users; a negative amount leaves the bucket. */
interface Side {
  /** Null for the bucket of the platform. */
  userId: string | null;
  kind: "hold" | ReturnKind | "task_payment" | "task_earning" | "platform_fee";
  bucket: "available" | "held" | "platform";
  amountCents: number;
}

/** A movement between users, as it is going to be written. */
export interface Movement {
  reason: Reason;
  sides: Side[];
}

/**
 * Movements between the buckets of users, within a transaction. They are written at its end, together with the commit, which
 * fails with their `Overdraft`.
 */
export interface MovementsWithCommit {
  /** available → held */
  hold(userId: string, amountCents: number, reason: Reason): void;
  /** held → available; does nothing if the amount is 0 */
  release(userId: string, amountCents: number, reason: Reason, kind?: ReturnKind): void;
  /** the buyer's held → the bidder's available bucket, and of that the fee, at most all of it → the platform */
  pay(buyerId: string, bidderId: string, amountCents: number, reason: Reason, feeCents?: number): void;
}

/**
 * Movements between a user and the outside world. They are written at once, and answered with the entry's id, or with null if
 * the reference was booked before: what else the transaction does may depend on it.
 */
export interface MovementsAnsweredNow {
  /** outside world → available */
  deposit(userId: string, kind: IncomingKind, amountCents: number, externalRef: string): Promise<string | null>;
  /** available → outside world, as a payout; throws an `Overdraft` */
  withdraw(userId: string, amountCents: number, externalRef: string): Promise<string | null>;
  /** what the platform has earned → outside world; null if the reference was booked before */
  withdrawFees(amountCents: number, externalRef: string): Promise<string | null>;
  /** available → outside world, as far as the balance goes; the rest becomes a debt, which later credits pay first */
  clawBack(userId: string, kind: ClawBackKind, amountCents: number, externalRef: string): Promise<string | null>;
}

/*
 * Every movement of money. Each is a single statement (one round trip, 2.8 to 4.4 times faster than several) that inserts
 * entries which sum to zero; inserting an entry changes its wallet. Amounts are positive integer cents. Money that becomes
 * available pays the user's debts at commit.
 *
 * The database refuses an overdraft: the statement throws an `Overdraft`, and the transaction must be rolled back. A movement
 * with an `externalRef` is booked only once: repeating it returns null, and reusing the reference with another kind, user or
 * amount throws. Lock order: the task's row first, then wallets by ascending user id.
 */

/** Calls `add` with each movement, in the order in which they must be written. */
export function movementsWithCommit(add: (movement: Movement) => void): MovementsWithCommit {
  return {
    hold(userId, amountCents, reason) {
      const sides: Side[] = [
        { userId, kind: "hold", bucket: "available", amountCents: -amountCents },
        { userId, kind: "hold", bucket: "held", amountCents },
      ];
      add({ reason, sides });
    },
    release(userId, amountCents, reason, kind = "hold_release") {
      if (amountCents === 0) return;
      const sides: Side[] = [
        { userId, kind, bucket: "available", amountCents },
        { userId, kind, bucket: "held", amountCents: -amountCents },
      ];
      add({ reason, sides });
    },
    pay(buyerId, bidderId, amountCents, reason, feeCents = 0) {
      const sides: Side[] = [
        { userId: buyerId, kind: "task_payment", bucket: "held", amountCents: -amountCents },
        { userId: bidderId, kind: "task_earning", bucket: "available", amountCents },
      ];
      const fee: Side[] = [
        { userId: bidderId, kind: "platform_fee", bucket: "available", amountCents: -feeCents },
        { userId: null, kind: "platform_fee", bucket: "platform", amountCents: feeCents },
      ];
      add({ reason, sides: feeCents === 0 ? sides : [...sides, ...fee] });
    },
  };
}

/** Throws an `Overdraft` if a bucket would become negative. */
export async function writeMovement(connection: Connection, { reason, sides }: Movement): Promise<void> {
  const values = sides.map(
    ({ userId, kind, bucket, amountCents }) => sql`(${userId}::uuid, ${kind}, ${bucket}, ${amountCents}::bigint)`,
  );
  // Inserting an entry locks its wallet, so the order of the rows is the lock order. An earning comes before its fee.
  const statement = sql`
    WITH transfer AS (
      INSERT INTO ledger_transfers (task_id, bid_id)
      VALUES (${reason.taskId}::uuid, ${reason.bidId ?? null}::uuid) RETURNING id
    )
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
    SELECT transfer.id, side.* FROM transfer, (VALUES ${join(values)}) AS side (user_id, kind, bucket, amount_cents)
    ORDER BY side.user_id, side.bucket, side.amount_cents DESC`;
  const neededCents = Math.max(...sides.map(({ amountCents }) => -amountCents));
  await connection.query(statement).catch(asOverdraft(neededCents));
}

export function movementsAnsweredNow(connection: Connection): MovementsAnsweredNow {
  const moveOnce = async (statement: Sql): Promise<string | null> => {
    const [row] = await connection.query<{ id: string | null }>(statement);
    return row?.id ?? null;
  };
  return {
    deposit: (userId, kind, amountCents, externalRef) =>
      moveOnce(sql`SELECT ledger_exchange(${userId}::uuid, ${kind}, ${amountCents}::bigint, ${externalRef}) AS id`),
    withdraw: (userId, amountCents, externalRef) =>
      moveOnce(
        sql`SELECT ledger_exchange(${userId}::uuid, 'payout', ${-amountCents}::bigint, ${externalRef}) AS id`,
      ).catch(asOverdraft(amountCents)),
    withdrawFees: (amountCents, externalRef) =>
      moveOnce(sql`SELECT ledger_withdraw_fees(${amountCents}::bigint, ${externalRef}) AS id`),
    clawBack: (userId, kind, amountCents, externalRef) =>
      moveOnce(sql`SELECT ledger_claw_back(${userId}::uuid, ${kind}, ${amountCents}::bigint, ${externalRef}) AS id`),
  };
}

/** The two buckets that the API shows. Both are 0 for a user without a wallet. */
export async function readWallet(connection: Connection, userId: string) {
  const [wallet] = await connection.query<{ availableCents: number; heldCents: number }>(
    sql`
    SELECT available_cents AS "availableCents", held_cents AS "heldCents" FROM wallets WHERE user_id = ${userId}::uuid`,
    { sharesConnection: true },
  );
  return wallet ?? { availableCents: 0, heldCents: 0 };
}

/**
 * For `.catch` of a transaction: rethrows an overdraft as the error that the API documents for it, with what was needed
 * and what the caller has available, and everything else as it is.
 */
export function refuseOverdraft(caller: { database: Connection; userId: string }, code: ErrorCode) {
  return async (error: unknown): Promise<never> => {
    if (!(error instanceof Overdraft)) throw error;
    const { availableCents } = await readWallet(caller.database, caller.userId);
    throw new ApiError(code, { neededCents: error.neededCents, availableCents }, error);
  };
}
