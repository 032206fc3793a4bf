import { ApiError } from "../errors.ts";
import type { Work } from "../store/database.ts";
import { ApprovalNeeded, KeyIsBound } from "./approvalNeeded.ts";
import { type Ask, Changed, type Claim, changeUnderLease } from "./changeUnderLease.ts";
import { deleteExpiredKey, keepAnswer } from "./keptAnswers.ts";
import { actorOf, type ChangingRequest, hashInput, type Key, KeyTaken, openKey } from "./key.ts";

/** How a procedure changes something. Whatever it writes, it writes through these. */
export interface Changes {
  /**
   * Runs `work` in the request's transaction and returns its result. For a repeat of a request with the same
   * `Idempotency-Key`, it returns the result of the first, which is kept in that same transaction, and `work` either does
   * not run or is rolled back. Keep secrets and signed addresses out of the result: add them afterwards, every time. At
   * most one change per request. In a dry run, everything is undone at the end, and nothing is kept.
   * @throws ApiError `idempotency_conflict` when the key was used for something else, or showed a secret.
   */
  change<Result>(work: Work<Result>): Promise<Result>;
  /**
   * For an operation that asks the outside world before its change, which no transaction may do; it declares
   * `hasNoDryRun`. Runs `ask`, which ends in the change that it is handed. A request with an `Idempotency-Key` first claims
   * the key, so that its repeats wait, without a database connection, and do not ask too. If the process dies, a repeat runs
   * `ask` again with the same claim's id.
   */
  claim<Result>(ask: Ask<Result>): Promise<Result>;
  /** As `claim`, where asking changes nothing outside, so that the operation can be tried. */
  claimToAsk<Result>(ask: Ask<Result>): Promise<Result>;
}

/** As `openKeyedChanges`, and asks the owner of an API key about what it may not do alone. */
export function openChanges(request: ChangingRequest): Changes {
  const key = request.idempotencyKey === undefined ? null : openKey(request, request.idempotencyKey);
  const { change, claim, claimToAsk } = openKeyedChanges(request, key);
  return {
    change: (work) => orAsk(request, key, () => change(work)),
    claim: (ask) => orAsk(request, key, () => claim(ask)),
    claimToAsk: (ask) => orAsk(request, key, () => claimToAsk(ask)),
  };
}

/** How often a request is tried anew because the approval that had its key has ended. */
const MAX_TRIES = 5;

async function orAsk<Result>(request: ChangingRequest, key: Key | null, run: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      const answer = await answerInstead<Result>(request, key, error);
      if (answer !== null) return answer.result;
      if (tries === MAX_TRIES) throw new ApiError("unavailable");
    }
  }
}

/** Throws what the request is refused with. Returns null if it can be tried anew. */
async function answerInstead<Result>(
  request: ChangingRequest,
  key: Key | null,
  error: unknown,
): Promise<{ result: Result } | null> {
  if (error instanceof KeyIsBound) {
    await request.awaitDecision(error.approvalId);
    return null;
  }
  if (!(error instanceof ApprovalNeeded)) throw error;
  const { needed, aboveCents } = error;
  if (request.isDryRun) {
    throw new ApiError("approval_required", { approval: null, amountCents: needed.amountCents, aboveCents });
  }
  const input = await request.readInput();
  const keyed = key === null ? null : await key.identify();
  const question = { operation: request.operation, input, inputHash: hashInput(input), key: keyed, needed };
  const answer = await request.askOwner<Result>(question);
  request.markReplayed();
  return answer;
}

function openKeyedChanges(request: ChangingRequest, key: Key | null): Changes {
  const { database } = request;
  if (request.isDryRun) return rehearsedChanges(request, key);
  if (key === null) {
    const change: Changes["change"] = (work) => database.transaction(work, actorOf(request));
    return { change, claim: claimNothing(change), claimToAsk: claimNothing(change) };
  }
  const claim: Changes["claim"] = (ask) => changeUnderLease(key, ask);
  return { change: (work) => changeOnce(key, work), claim, claimToAsk: claim };
}

/** Before a change whose key was taken, and is free again, is tried once more. */
const PAUSE_MS = 20;

/** Changes something, or returns what an earlier request with the key has returned: one transaction does both. */
async function changeOnce<Result>(key: Key, work: Work<Result>): Promise<Result> {
  const { database, operation, pause } = key.request;
  for (;;) {
    try {
      return await database.transaction(async (tx) => {
        const result = await work(tx);
        if (!(await keepAnswer(tx, await key.identify(), key.keptOf(result)))) throw new KeyTaken();
        return result;
      }, actorOf(key.request));
    } catch (error) {
      // The first request has the key, or what it has done is why this one is refused.
      const known = await key.find<Result>();
      const answer = key.answerOf(known);
      if (answer !== null) return answer.result;
      const approvalId = known?.approvalId ?? null;
      const isToBeKept = error instanceof KeyTaken || error instanceof ApprovalNeeded;
      if (approvalId !== null && isToBeKept) throw new KeyIsBound(approvalId);
      if (!(error instanceof KeyTaken)) throw error;
      if (known !== null) throw new Error(`${operation} has claimed its key: it must end in the claim's change`);
      await deleteExpiredKey(database, await key.identify());
      await pause(PAUSE_MS);
    }
  }
}

/** For a request that no other waits for. */
export function claimNothing(change: Changes["change"]): Changes["claim"] {
  const claim: Claim = { id: null, change: async (work) => new Changed(await change(work)) };
  return async (ask) => (await ask(claim)).result;
}

/**
 * Everything is done and then undone. A key that has an answer answers as for any repeat; otherwise nothing is kept, and
 * nobody waits for a request with the same key.
 */
function rehearsedChanges({ database, operation }: ChangingRequest, key: Key | null): Changes {
  const findAnswer = async <Result>() => (key === null ? null : key.answerOf(await key.find<Result>()));
  const change: Changes["change"] = async <Result>(work: Work<Result>) => {
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
  };
  return {
    change,
    async claimToAsk<Result>(ask: Ask<Result>) {
      const answer = await findAnswer<Result>();
      return answer === null ? claimNothing(change)(ask) : answer.result;
    },
    claim: () => Promise.reject(new Error(`${operation} asks the outside world: it must declare \`hasNoDryRun\``)),
  };
}
