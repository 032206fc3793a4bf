import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { type CallTurns, Turns, turnsOf } from "../turns.ts";
import { hasBody } from "./body.ts";
import { callNamesOf, isRpcPath, MAX_BATCH_SIZE } from "./paths.ts";
import { sendError } from "./sendError.ts";

/** How much one API process takes on before it responds with `unavailable`. Source: docs/contract.md "Errors". */
export interface OverloadLimits {
  /** Calls under way, not counting those that wait for another call of the same caller. */
  maxCallsUnderWay: number;
  /** Calls of one caller that may use the database at the same time: those that change something, and those of batches that only read. */
  turnsPerCaller: number;
  /** The same for lone calls that only read. */
  readTurnsPerCaller: number;
  /** Calls of one caller that may wait for a turn of one kind, and how long. */
  maxWaitingPerCaller: number;
  maxWaitingMs: number;
  /** Calls of all callers that may wait for a turn: a bound for memory. */
  maxWaiting: number;
}

const defaultLimits: OverloadLimits = {
  // A queue of one second where a process sustains 600 mixed calls a second; `npm run bench overload` measures the rate of
  // a machine. 10 connections at some 5 ms a call allow 2,000, so the queue is one for the processor. A longer one would
  // only make every response later.
  maxCallsUnderWay: 600,
  // A tenth of the connections. One caller's changes mostly wait for the processor or for each other's row locks, so more
  // would not be faster; and others wait behind each of them whenever they need the processor, some four times a call.
  turnsPerCaller: 2,
  // Most reads share a connection (store/pipelinedReads.ts), so more are faster: with 6 instead of 2, one caller's parallel
  // pages of the ledger were a third more a second, but others' reads beside them took 16 ms instead of 8 (measured). Those of a
  // batch, which come together and may all be large, keep to `turnsPerCaller`: with 4, others waited 0.4 s and not 0.2 s.
  readTurnsPerCaller: 4,
  maxWaitingPerCaller: 300,
  maxWaitingMs: 15_000,
  maxWaiting: 1_200,
};

/** A request whose body arrives this slowly is not counted until it is complete: it makes no work yet. */
const SLOW_BODY_MS = 1_000;

/** What is under way in one process. */
export interface Load {
  readonly limits: OverloadLimits;
  /** Calls that count against `maxCallsUnderWay`. */
  callsUnderWay: number;
  readonly turns: Turns;
}

/** Returns the load of a process that has just started. */
export function createLoad(limits: Partial<OverloadLimits> = {}): Load {
  const all = { ...defaultLimits, ...limits };
  const { maxWaiting, maxWaitingPerCaller, maxWaitingMs } = all;
  const turns = new Turns({ waiting: maxWaiting, waitingPerKey: maxWaitingPerCaller, waitMs: maxWaitingMs });
  return { limits: all, callsUnderWay: 0, turns };
}

/** What one request adds to the load. */
interface RequestLoad {
  readonly load: Load;
  readonly calls: number;
  /** Says that so many of its calls only wait from now on, and are not under way. Returns what ends that. */
  idle(calls: number): () => void;
}

const requestLoads = new WeakMap<Response, RequestLoad>();

/**
 * Refuses requests with `unavailable` while too many calls are under way, before any work is done for them. Those that it
 * lets through can take turns.
 */
export function shedLoad(load: Load): RequestHandler {
  return (request, response, next) => {
    if (load.callsUnderWay >= load.limits.maxCallsUnderWay) {
      sendError(response, new ApiError("unavailable"));
      return;
    }
    const added = countRequest(load, request, response);
    requestLoads.set(response, added);
    if (takesBody(request)) ignoreSlowBody(added, request);
    next();
  };
}

/** Counts a request's calls until its response is over. */
function countRequest(load: Load, request: Request, response: Response): RequestLoad {
  const calls = callsOf(request);
  let counted = 0;
  let isOver = false;
  const count = (difference: number) => {
    if (isOver) return;
    counted += difference;
    load.callsUnderWay += difference;
  };
  count(calls);
  response.once("close", () => {
    count(-counted);
    isOver = true;
  });
  return {
    ...{ load, calls },
    idle(idling) {
      count(-idling);
      let isIdle = true;
      return () => {
        if (isIdle) count(idling);
        isIdle = false;
      };
    },
  };
}

function ignoreSlowBody({ calls, idle }: RequestLoad, request: Request): void {
  let resume = () => {};
  const timeout = setTimeout(() => {
    resume = idle(calls);
  }, SLOW_BODY_MS);
  const end = () => {
    clearTimeout(timeout);
    resume();
  };
  request.once("end", end).once("close", end);
}

/** Returns the turns of a request's calls. `caller` is the user, or the address of a stranger. */
export function turnsFor(response: Response, caller: string): CallTurns {
  const added = requestLoads.get(response);
  if (added === undefined) throw new Error("the request has not passed `shedLoad`");
  const { calls, idle } = added;
  const { turns, limits } = added.load;
  const allowed = { reads: limits.readTurnsPerCaller, others: limits.turnsPerCaller };
  return turnsOf(turns, { name: caller, calls, ...allowed }, () => idle(1));
}

/** The number of calls in a request: a batch of typed RPC has several. */
const callsOf = ({ path }: Request) => (isRpcPath(path) ? Math.min(callNamesOf(path).length, MAX_BATCH_SIZE) : 1);

/** Whether the client may still be sending a body that we are going to read. */
const takesBody = (request: Request) => request.method !== "GET" && request.method !== "HEAD" && hasBody(request);
