import { ApiError } from "../errors.ts";
import { ProcessorRefused } from "../gateways/processorErrors.ts";
import type { Work } from "../store/database.ts";
import { extendingLease } from "../store/lease.ts";
import { ApprovalNeeded, KeyIsBound } from "./approvalNeeded.ts";
import * as kept from "./keptAnswers.ts";
import { actorOf, type Key, KeyTaken } from "./key.ts";

/** What an operation gets that asks the outside world before its change. */
export interface Claim {
  /** Name after it what is created outside. Null for a request without a key. */
  readonly id: string | null;
  /** Runs `work` in a transaction that also keeps its result. */
  change<Result>(work: Work<Result>): Promise<Changed<Result>>;
}

/** The result of the change that ends a claim. Only that change makes one, so no operation ends without it. */
export class Changed<Result> {
  readonly #result: Result;

  constructor(result: Result) {
    this.#result = result;
  }

  get result(): Result {
    return this.#result;
  }
}

export type Ask<Result> = (claim: Claim) => Promise<Changed<Result>>;

/** Pauses of a repeat that waits for a claim. */
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;
/** Longer than any operation takes. */
const MAX_WAIT_MS = 300_000;

/** Runs `ask` while nobody else with the key does, or returns what another has kept. */
export async function changeUnderLease<Result>(key: Key, ask: Ask<Result>): Promise<Result> {
  const { database, hasLeft, pause } = key.request;
  const request = await key.identify();
  const deadline = Date.now() + MAX_WAIT_MS;
  let pauseMs = FIRST_PAUSE_MS;
  while (Date.now() < deadline && !hasLeft()) {
    const known = await key.find<Result>();
    const answer = key.answerOf(known);
    if (answer !== null) return answer.result;
    if (known !== null && known.approvalId !== null) throw new KeyIsBound(known.approvalId);
    if (known === null || known.isAbandoned) {
      const claim = await kept.takeClaim(database, request);
      const changed = claim && (await askUnderLease(key, claim, ask));
      if (changed !== null) return changed.result;
      await kept.deleteExpiredKey(database, request);
    }
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS);
  }
  throw new ApiError("unavailable");
}

/**
 * Returns null if another request has taken the claim over, after this one was silent for too long. Then that one's
 * answer counts even if this one failed: it may have been refused because of what the other has done.
 */
async function askUnderLease<Result>(
  { request, keptOf }: Key,
  claim: kept.ClaimedKey,
  ask: Ask<Result>,
): Promise<Changed<Result> | null> {
  const { database, log, operation } = request;
  const change: Claim["change"] = async (work) => {
    const result = await database.transaction(async (tx) => {
      const result = await work(tx);
      if (!(await kept.answerClaim(tx, claim, keptOf(result)))) throw new KeyTaken();
      return result;
    }, actorOf(request));
    return new Changed(result);
  };
  try {
    return await extendingLease(request, kept.claimLease, kept.isMine(claim), () => ask({ id: claim.id, change }));
  } catch (error) {
    if (error instanceof KeyTaken) return null;
    const end = isRefusal(error) ? kept.freeKey : kept.abandonClaim;
    const isOurs = await end(database, claim).catch((failure: unknown) => {
      log.warn({ error: failure, operation }, "a claim could not be updated");
      return true;
    });
    if (!isOurs) return null;
    throw error;
  }
}

/** True if the request was refused for good, so that nothing of it can still happen. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ProcessorRefused || error instanceof ApprovalNeeded) return true;
  return error instanceof ApiError && error.status < 500;
}
