import { createHash } from "node:crypto";
import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import type { Database } from "../store/database.ts";
import type { EventActor } from "../store/outbox.ts";
import type { Needed } from "./approvalNeeded.ts";
import { findKey, type KeyedRequest, type KnownKey } from "./keptAnswers.ts";

/** A request that may change something. */
export interface ChangingRequest {
  /** Whether everything is undone at the end: the header `Dry-Run`. */
  isDryRun: boolean;
  database: Database;
  log: Logger;
  userId: string;
  /** With which of the user's API keys; null for a session. */
  keyId: string | null;
  /** The header `Idempotency-Key`, already validated. */
  idempotencyKey: string | undefined;
  operation: string;
  readInput(): Promise<unknown>;
  /** Whether the answer contains a secret that is never shown again, so that a repeat can only name what was created. */
  showsSecret: boolean;
  /** Waits without holding up the caller's other requests. */
  pause(milliseconds: number): Promise<void>;
  /** True once nobody waits for the response. */
  hasLeft(): boolean;
  /** Called when the answer is the one of an earlier request. */
  markReplayed(): void;
  /**
   * Asks the owner of the API key to approve the request, or finds what they were asked. Throws what the request is refused
   * with, unless an earlier request like this one was approved meanwhile: then it returns that one's result.
   */
  askOwner<Result>(question: Question): Promise<{ result: Result }>;
  /**
   * For a request whose `Idempotency-Key` belongs to an approval. Throws what it is refused with while that is pending;
   * returns once it has ended.
   */
  awaitDecision(approvalId: string): Promise<void>;
}

/** A request that its key may not do alone. */
export interface Question {
  operation: string;
  input: unknown;
  inputHash: Buffer;
  /** Its `Idempotency-Key`. */
  key: KeyedRequest | null;
  needed: Needed;
}

/** Whose act a change of the request is. */
export const actorOf = ({ userId, keyId }: ChangingRequest): EventActor => ({ userId, keyId });

/** The `Idempotency-Key` of a request. */
export interface Key {
  readonly request: ChangingRequest;
  /** What identifies the request among all those with keys. */
  identify(): Promise<KeyedRequest>;
  /** Returns what is known about the key; null if nothing is. */
  find<Result>(): Promise<KnownKey<Result> | null>;
  /**
   * Returns the answer of an earlier request with this key; null if there is none, or none yet.
   * @throws ApiError `idempotency_conflict` when the key was used for something else, or showed a secret.
   */
  answerOf<Result>(known: KnownKey<Result> | null): { result: Result } | null;
  /** What is kept of a result, which may contain a secret. */
  keptOf(result: unknown): unknown;
}

/** Another request has the key: the transaction is rolled back, and that request's answer counts. */
export class KeyTaken extends Error {}

export function openKey(request: ChangingRequest, key: string): Key {
  let identity: KeyedRequest | undefined;
  const identify = async () => {
    const { userId, operation } = request;
    identity ??= { userId, key, operation, inputHash: hashInput(await request.readInput()) };
    return identity;
  };
  return {
    request,
    identify,
    find: async <Result>() => findKey<Result>(request.database, await identify()),
    answerOf(known) {
      if (known === null) return null;
      if (!known.isSame) throw new ApiError("idempotency_conflict");
      if (known.answer === null) return null;
      if (request.showsSecret) throw secretConflict(idOf(known.answer.result));
      request.markReplayed();
      return known.answer;
    },
    keptOf: (result) => (request.showsSecret ? { id: idOf(result) } : result),
  };
}

function secretConflict(id: string): ApiError {
  return new ApiError("idempotency_conflict", {
    id,
    message: `A request with this \`Idempotency-Key\` has created ${id}. Its secret was shown once and cannot be shown again: delete it and create another one.`,
  });
}

function idOf(result: unknown): string {
  if (typeof result !== "object" || result === null || !("id" in result) || typeof result.id !== "string") {
    throw new Error("a change that shows a secret returns what it created, with an `id`");
  }
  return result.id;
}

/** The same for every transport and any order of the fields. */
export function hashInput(input: unknown): Buffer {
  return createHash("sha256")
    .update(JSON.stringify(sorted(input ?? {})))
    .digest();
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, inner]) => [name, sorted(inner)]));
}
