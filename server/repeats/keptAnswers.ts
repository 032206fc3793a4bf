import { randomUUID } from "node:crypto";
import { PROCESSOR_KEY_HOURS } from "../gateways/processorRecords.ts";
import { type Connection, type Sql, sql } from "../store/connection.ts";
import { violatedUniqueConstraint } from "../store/databaseErrors.ts";
import { endOf, isFree, type Lease, releaseLease } from "../store/lease.ts";

/** One request with an `Idempotency-Key`. The key's scope is the user. */
export interface KeyedRequest {
  userId: string;
  key: string;
  /** The procedure, such as `tasks.create`. */
  operation: string;
  /** SHA-256 of the input. */
  inputHash: Buffer;
}

/** What is known about a key. */
export interface KnownKey<Result> {
  /** False if the key was used for another operation, or with other input. */
  isSame: boolean;
  /** Null while the request with the key is under way. The wrapper tells a change that returns nothing from none. */
  answer: { result: Result } | null;
  /** Whether the process that claimed the key has stopped extending its lease; null without a claim. */
  isAbandoned: boolean | null;
  /** The approval that a request with the key has asked for, while there is no answer. */
  approvalId: string | null;
}

/** The lease of a key whose request asks the outside world. */
export const claimLease: Lease = { table: sql`idempotency_keys`, column: sql`lease_until`, seconds: 10 };

/** A key that this request alone may keep an answer under. */
export interface ClaimedKey extends KeyedRequest {
  /** The same for all who hold the claim, one after the other. */
  id: string;
  /** This holder. */
  owner: string;
}

const rowOf = ({ userId, key }: KeyedRequest) => sql`user_id = ${userId}::uuid AND key = ${key}`;
/** Whether the claim is still this request's, and has no answer. */
export const isMine = (claim: ClaimedKey): Sql =>
  sql`${rowOf(claim)} AND owner = ${claim.owner}::uuid AND answer IS NULL`;

/** A request that is still at work keeps its key, even if a test moves the clock forward meanwhile. */
const isOver = sql`(expires_at <= (SELECT service_now()) AND approval_id IS NULL
  AND (answer IS NOT NULL OR ${isFree(claimLease)}))`;

/** Returns null for a key that was not used in the last 24 hours, or that is free again. */
export async function findKey<Result>(connection: Connection, request: KeyedRequest): Promise<KnownKey<Result> | null> {
  const [known] = await connection.query<KnownKey<Result>>(sql`
    SELECT operation = ${request.operation} AND input_hash = ${request.inputHash} AS "isSame",
           answer, lease_until <= clock_timestamp() AS "isAbandoned", approval_id AS "approvalId"
    FROM idempotency_keys WHERE ${rowOf(request)} AND NOT ${isOver}`);
  return known ?? null;
}

/**
 * Keeps what a change returns, in its transaction. Returns false if another request has the key, which may have answered
 * or may be under way; the transaction must then be rolled back. Waits for a parallel transaction that keeps an answer
 * under the same key.
 */
export async function keepAnswer(connection: Connection, request: KeyedRequest, result: unknown): Promise<boolean> {
  const { userId, key, operation, inputHash } = request;
  try {
    // Without ON CONFLICT, which would write more for every key, to spare those that are taken an error.
    await connection.query(sql`
      INSERT INTO idempotency_keys (user_id, key, operation, input_hash, answer)
      VALUES (${userId}::uuid, ${key}, ${operation}, ${inputHash}, ${jsonOf(result)}::json)`);
    return true;
  } catch (error) {
    if (violatedUniqueConstraint(error) !== "idempotency_keys_pkey") throw error;
    return false;
  }
}

/** Like `keepAnswer`, for a key that is claimed. Returns false if another request has taken the claim over. */
export async function answerClaim(connection: Connection, claim: ClaimedKey, result: unknown): Promise<boolean> {
  const kept = await connection.query(sql`
    UPDATE idempotency_keys SET answer = ${jsonOf(result)}::json, expires_at = DEFAULT
    WHERE ${isMine(claim)} RETURNING 1`);
  return kept.length > 0;
}

const jsonOf = (result: unknown) => JSON.stringify({ result });

/**
 * Claims a key that is not used, or takes over the claim of a process that died, with its id, which may be in use outside, and for
 * no longer than it can be repeated there.
 * Returns null if another request has the key.
 */
export async function takeClaim(connection: Connection, request: KeyedRequest): Promise<ClaimedKey | null> {
  const { userId, key, operation, inputHash } = request;
  const owner = randomUUID();
  const [claim] = await connection.query<{ id: string }>(sql`
    INSERT INTO idempotency_keys AS known
      (user_id, key, operation, input_hash, claim_id, owner, lease_until, expires_at)
    VALUES (${userId}::uuid, ${key}, ${operation}, ${inputHash}, uuid_v7(), ${owner}::uuid, ${endOf(claimLease)},
            service_now() + make_interval(hours => ${PROCESSOR_KEY_HOURS}))
    ON CONFLICT (user_id, key) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
    WHERE known.answer IS NULL AND known.lease_until <= clock_timestamp() AND known.expires_at > service_now()
      AND known.operation = excluded.operation AND known.input_hash = excluded.input_hash
    RETURNING claim_id AS id`);
  return claim ? { ...request, owner, id: claim.id } : null;
}

/**
 * Lets the next repeat take a claim over at once: its outcome is unknown, and nobody works on it. Returns false if the
 * claim was no longer this request's, or has an answer.
 */
export const abandonClaim = (connection: Connection, claim: ClaimedKey): Promise<boolean> =>
  releaseLease(connection, claimLease, isMine(claim));

/** Frees the key of a claim that was refused. Returns false if the claim was no longer this request's, or has an answer. */
export async function freeKey(connection: Connection, claim: ClaimedKey): Promise<boolean> {
  return (await connection.query(sql`DELETE FROM idempotency_keys WHERE ${isMine(claim)} RETURNING 1`)).length > 0;
}

/**
 * Gives a key to an approval, until that is decided. Returns false if the key is used already, for whatever else.
 */
export async function bindKey(connection: Connection, request: KeyedRequest, approvalId: string): Promise<boolean> {
  const { userId, key, operation, inputHash } = request;
  await deleteExpiredKey(connection, request);
  const bound = await connection.query(sql`
    INSERT INTO idempotency_keys AS known (user_id, key, operation, input_hash, approval_id)
    VALUES (${userId}::uuid, ${key}, ${operation}, ${inputHash}, ${approvalId}::uuid)
    ON CONFLICT (user_id, key) DO UPDATE SET approval_id = excluded.approval_id
    WHERE known.approval_id = excluded.approval_id RETURNING 1`);
  return bound.length > 0;
}

/** Keeps the result of what was approved under all keys of the approval. */
export async function answerBoundKeys(connection: Connection, approvalId: string, result: unknown): Promise<void> {
  await connection.query(sql`
    UPDATE idempotency_keys SET answer = ${jsonOf(result)}::json, approval_id = NULL, expires_at = DEFAULT
    WHERE approval_id = ${approvalId}::uuid`);
}

/** Frees the keys of approvals that ended otherwise. */
export async function freeBoundKeys(connection: Connection, approvalIds: readonly string[]): Promise<void> {
  await connection.query(sql`DELETE FROM idempotency_keys WHERE approval_id = ANY (${approvalIds}::uuid[])`);
}

/** Deletes a key whose 24 hours are over and which has not been pruned yet. */
export async function deleteExpiredKey(connection: Connection, request: KeyedRequest): Promise<void> {
  await connection.query(sql`DELETE FROM idempotency_keys WHERE ${rowOf(request)} AND ${isOver}`);
}

const PRUNED_AT_ONCE = 1_000;

/** Deletes kept answers that are older than 24 hours: a batch each time, oldest first. */
export async function pruneKeptAnswers({ database }: { database: Connection }): Promise<void> {
  const prune = sql`
    DELETE FROM idempotency_keys WHERE (user_id, key) IN (
      SELECT user_id, key FROM idempotency_keys WHERE ${isOver}
      ORDER BY expires_at LIMIT ${PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
  await database.query(prune, { plan: "fresh" });
}
