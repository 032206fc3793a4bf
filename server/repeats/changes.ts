import { createHash, randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { ApiError } from "../errors.ts";
import { ProcessorRefused } from "../gateways/processorErrors.ts";
import type { Database, Transaction } from "../store/database.ts";
import * as kept from "./keptAnswers.ts";

/** How a procedure changes something. Whatever it writes, it writes through these. */
export interface Changes {
  /**
   * Runs `work` in the request's transaction and returns its result. For a repeat of a request with the same
   * `Idempotency-Key`, it returns the result of the first, which is kept in that same transaction, and `work` either does
   * not run or is rolled back. Keep secrets and signed addresses out of the result: add them afterwards, every time. At
   * most one change per request. In a dry run, everything is undone at the end, and nothing is kept.
   * @throws ApiError `idempotency_conflict` when the key was used for something else, or showed a secret.
   */
  change<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /**
   * For an operation that asks the outside world before its change, which no transaction may do; it declares
   * `hasNoDryRun`. Runs `ask`, which must
   * end in `change` and return its result. A request with an `Idempotency-Key` first claims the key, so that its repeats
   * wait, without a database connection, and do not ask too. If the process dies, a repeat runs `ask` again with the same
   * `claimId`: name after it what is created outside. It is null for a request without a key.
   */
  claim<Result>(ask: (claimId: string | null) => Promise<Result>): Promise<Result>;
  /** As `claim`, where asking changes nothing outside, so that the operation can be tried. */
  claimToAsk<Result>(ask: () => Promise<Result>): Promise<Result>;
}

export interface ChangingRequest {
  /** Whether everything is undone at the end: the header `Dry-Run`. */
  isDryRun: boolean;
  database: Database;
  log: Logger;
  userId: string;
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
}

/** Another request has the key: the transaction is rolled back, and that request's answer counts. */
class KeyTaken extends Error {}

/** Pauses of a repeat that waits for a claim. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
/** Longer than any operation takes. */
const MAX_WAIT_MS = 300_000;

export function openChanges(request: ChangingRequest): Changes {
  const { database, idempotencyKey } = request;
  const answers = idempotencyKey === undefined ? null : keptAnswers(request, idempotencyKey);
  if (request.isDryRun) return rehearsedChanges(request, answers);
  if (answers === null) {
    return { change: (work) => database.transaction(work), claim: (ask) => ask(null), claimToAsk: (ask) => ask() };
  }
  return keyedChanges(request, answers);
}

/** What is kept under the key of a request. */
function keptAnswers({ database, ...request }: ChangingRequest, key: string) {
  let keyed: kept.KeyedRequest | undefined;

  async function keyedRequest(): Promise<kept.KeyedRequest> {
    const { userId, operation } = request;
    keyed ??= { userId, key, operation, inputHash: hashInput(await request.readInput()) };
    return keyed;
  }

  /** Returns the answer of an earlier request with this key; null if there is none, or none yet. */
  function answerOf<Result>(known: kept.KnownKey<Result> | null): { result: Result } | null {
    if (known === null) return null;
    if (!known.isSame) throw new ApiError("idempotency_conflict");
    if (known.answer === null) return null;
    if (request.showsSecret) throw secretConflict(idOf(known.answer.result));
    request.markReplayed();
    return known.answer;
  }

  const findAnswer = async <Result>() => answerOf(await kept.findKey<Result>(database, await keyedRequest()));

  return { keyedRequest, answerOf, findAnswer };
}
type KeptAnswers = ReturnType<typeof keptAnswers>;

/**
 * Everything is done and then undone. A key that has an answer answers as for any repeat; otherwise nothing is kept, and
 * nobody waits for a request with the same key.
 */
function rehearsedChanges({ database, operation }: ChangingRequest, answers: KeptAnswers | null): Changes {
  const findAnswer = async <Result>() => (answers === null ? null : answers.findAnswer<Result>());
  return {
    async change<Result>(work: (tx: Transaction) => Promise<Result>) {
      const answer = await findAnswer<Result>();
      if (answer !== null) return answer.result;
      try {
        return await database.rehearse(work);
      } catch (error) {
        // What a request with the same key has done meanwhile may be why this one is refused.
        const later = await findAnswer<Result>();
        if (later === null) throw error;
        return later.result;
      }
    },
    async claimToAsk<Result>(ask: () => Promise<Result>) {
      const answer = await findAnswer<Result>();
      return answer === null ? ask() : answer.result;
    },
    claim: () => Promise.reject(new Error(`${operation} asks the outside world: it must declare \`hasNoDryRun\``)),
  };
}

function keyedChanges(
  { database, log, ...request }: ChangingRequest,
  { keyedRequest, answerOf, findAnswer }: KeptAnswers,
): Changes {
  /** Set while this request holds a claim. */
  let owner: string | null = null;
  let hasChanged = false;

  async function keep(tx: Transaction, result: unknown): Promise<void> {
    const shown = request.showsSecret ? { id: idOf(result) } : result;
    const of = await keyedRequest();
    const isKept = owner === null ? await kept.keepAnswer(tx, of, shown) : await kept.answerClaim(tx, of, owner, shown);
    if (!isKept) throw new KeyTaken();
  }

  const runOnce = <Result>(work: (tx: Transaction) => Promise<Result>) =>
    database.transaction(async (tx) => {
      const result = await work(tx);
      await keep(tx, result);
      return result;
    });

  async function change<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    if (hasChanged) throw new Error("a request makes at most one change");
    hasChanged = true;
    if (owner !== null) return runOnce(work);
    for (;;) {
      try {
        return await runOnce(work);
      } catch (error) {
        // The first request has the key, or what it has done is why this one is refused.
        const answer = await findAnswer<Result>();
        if (answer !== null) return answer.result;
        if (!(error instanceof KeyTaken)) throw error;
        await kept.deleteExpiredKey(database, await keyedRequest());
        await request.pause(FIRST_PAUSE_MS);
      }
    }
  }

  async function claim<Result>(ask: (claimId: string | null) => Promise<Result>): Promise<Result> {
    const of = await keyedRequest();
    const deadline = Date.now() + MAX_WAIT_MS;
    for (
      let pauseMs = FIRST_PAUSE_MS;
      Date.now() < deadline && !request.hasLeft();
      pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)
    ) {
      const known = await kept.findKey<Result>(database, of);
      const answer = answerOf(known);
      if (answer !== null) return answer.result;
      if (known === null || known.isAbandoned) {
        const me = randomUUID();
        const claimId = await kept.takeClaim(database, of, me);
        if (claimId !== null) {
          const done = await runClaimed(of, me, () => ask(claimId));
          if (done !== null) return done.result;
        }
        await kept.deleteExpiredKey(database, of);
      }
      await request.pause(pauseMs);
    }
    throw new ApiError("unavailable");
  }

  /**
   * Returns null if another request has taken the claim over, after this one was silent for too long. Then that one's
   * answer counts even if this one failed: it may have been refused because of what the other has done.
   */
  async function runClaimed<Result>(of: kept.KeyedRequest, me: string, ask: () => Promise<Result>) {
    owner = me;
    hasChanged = false;
    const failed = (error: unknown) => log.warn({ error, operation: of.operation }, "a claim could not be updated");
    const timer = setInterval(() => {
      kept.extendClaim(database, of, me).catch(failed);
    }, kept.LEASE_EXTENSION_INTERVAL_MS);
    try {
      const result = await ask();
      if (!hasChanged) throw new Error("an operation that claims its key must end in a change");
      return { result };
    } catch (error) {
      if (error instanceof KeyTaken) return null;
      const end = isRefusal(error) ? kept.releaseClaim : kept.abandonClaim;
      const isLost = await end(database, of, me).then((isOurs) => !isOurs, failed);
      if (isLost) return null;
      throw error;
    } finally {
      clearInterval(timer);
      owner = null;
    }
  }

  return { change, claim, claimToAsk: claim };
}

/** True if the request was refused for good, so that nothing of it can still happen. */
function isRefusal(error: unknown): boolean {
  return error instanceof ProcessorRefused || (error instanceof ApiError && error.status < 500);
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

/** The same for both transports and any order of the fields. */
function hashInput(input: unknown): Buffer {
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
