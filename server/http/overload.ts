import type { Request, RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import type { Pause } from "../trpc.ts";
import { hasBody } from "./body.ts";
import { sendError } from "./sendError.ts";

/** How much one API process takes on before it responds with `unavailable`. Source: docs/contract.md "Errors". */
export interface OverloadLimits {
  /** Calls under way, not counting those that wait for another call of the same caller. */
  maxCallsUnderWay: number;
  /** Calls of one caller that may use the database at the same time: those that change something, and those of a batch that only read. */
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
const MAX_CALLS_PER_REQUEST = 20;

/** Calls its argument when the caller's credential ends. Returns what ends the watch. */
type Watch = (onEnd: () => void) => () => void;

/** The calls of one kind that one caller has running, how to start those that wait, and how many pause without a turn. */
interface Line {
  running: number;
  waiting: Set<() => void>;
  paused: number;
}

/** What is under way in one process. */
export interface Load {
  readonly limits: OverloadLimits;
  /** Calls that count against `maxCallsUnderWay`. */
  callsUnderWay: number;
  /** Calls that wait for a turn, or pause without one. */
  waiting: number;
  readonly lines: Map<string, Line>;
}

/** One request's part of the load. */
class Place {
  readonly #load: Load;
  readonly #calls: number;
  readonly #waiting = new Set<() => void>();
  #paused = 0;
  #idle = 0;
  #isSendingSlowly = false;
  #isClosed = false;
  #counted = 0;

  constructor(load: Load, request: Request, response: Response) {
    this.#load = load;
    this.#calls = callsOf(request);
    this.#count();
    response.once("close", () => this.#close());
    if (takesBody(request)) this.#ignoreSlowBody(request);
  }

  /** Runs `work` when the caller has a turn free; see `takeTurn` below. */
  async takeTurn<Result>(
    caller: string,
    work: (pause: Pause) => Promise<Result>,
    { onlyReads, watch }: { onlyReads: boolean; watch?: Watch | undefined },
  ): Promise<Result> {
    const { lines, limits } = this.#load;
    const name = `${onlyReads ? "reads" : "changes"} of ${caller}`;
    const turns = onlyReads && this.#calls === 1 ? limits.readTurnsPerCaller : limits.turnsPerCaller;
    const line = lines.get(name) ?? { running: 0, waiting: new Set(), paused: 0 };
    lines.set(name, line);
    let hasTurn = false;
    const enter = async () => {
      if (line.running < turns) line.running++;
      else await this.#wait(line, watch);
      hasTurn = true;
    };
    const leave = () => {
      hasTurn = false;
      // The turn passes to the call that has waited longest.
      const [next] = line.waiting;
      if (next !== undefined) next();
      else line.running--;
    };
    const pause = async (milliseconds: number) => {
      // One that cannot be counted keeps its turn.
      if (this.#isFull(line)) return sleepWatched(milliseconds, watch);
      this.#countPaused(line, 1);
      leave();
      await sleepWatched(milliseconds, watch).finally(() => this.#countPaused(line, -1));
      await enter();
    };
    try {
      await enter();
      return await work(pause);
    } finally {
      if (hasTurn) leave();
      if (line.running === 0 && line.paused === 0) lines.delete(name);
    }
  }

  /** See `idle` below. */
  idle(): () => void {
    this.#idle++;
    this.#count();
    let isOver = false;
    return () => {
      if (!isOver) this.#idle--;
      isOver = true;
      this.#count();
    };
  }

  #countPaused(line: Line, calls: 1 | -1): void {
    line.paused += calls;
    this.#paused += calls;
    this.#load.waiting += calls;
    this.#count();
  }

  #isFull({ waiting, paused }: Line): boolean {
    const { limits, waiting: allWaiting } = this.#load;
    return waiting.size + paused >= limits.maxWaitingPerCaller || allWaiting >= limits.maxWaiting;
  }

  #wait(line: Line, watch: Watch | undefined): Promise<void> {
    const load = this.#load;
    if (this.#isClosed || this.#isFull(line)) return Promise.reject(new ApiError("unavailable"));
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timeout);
        unwatch?.();
        line.waiting.delete(start);
        this.#waiting.delete(giveUp);
        load.waiting--;
        this.#count();
      };
      const start = () => {
        end();
        resolve();
      };
      const stopWaiting = (code: "unavailable" | "unauthenticated") => {
        end();
        reject(new ApiError(code));
      };
      const giveUp = () => stopWaiting("unavailable");
      const timeout = setTimeout(giveUp, load.limits.maxWaitingMs);
      const unwatch = watch?.(() => stopWaiting("unauthenticated"));
      line.waiting.add(start);
      this.#waiting.add(giveUp);
      load.waiting++;
      this.#count();
    });
  }

  #ignoreSlowBody(request: Request): void {
    const timeout = setTimeout(() => {
      this.#isSendingSlowly = true;
      this.#count();
    }, SLOW_BODY_MS);
    const end = () => {
      clearTimeout(timeout);
      this.#isSendingSlowly = false;
      this.#count();
    };
    request.once("end", end).once("close", end);
  }

  #close(): void {
    this.#isClosed = true;
    // Nobody is there to receive the response, so calls that have not begun are dropped.
    for (const giveUp of this.#waiting) giveUp();
    this.#count();
  }

  #count(): void {
    const resting = this.#waiting.size + this.#paused + this.#idle;
    const counted = this.#isClosed || this.#isSendingSlowly ? 0 : this.#calls - resting;
    this.#load.callsUnderWay += counted - this.#counted;
    this.#counted = counted;
  }
}

/** Returns the load of a process that has just started. */
export function createLoad(limits: Partial<OverloadLimits> = {}): Load {
  return { limits: { ...defaultLimits, ...limits }, callsUnderWay: 0, waiting: 0, lines: new Map() };
}

const places = new WeakMap<Response, Place>();

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
    places.set(response, new Place(load, request, response));
    next();
  };
}

/**
 * Runs `work` as one of the few calls that a caller may have running at the same time; the others wait here and not for a
 * connection, so that one caller cannot take them all. Throws `unavailable` when too many wait, or for too long, and
 * `unauthenticated` when the caller's credential ends meanwhile, if `watch` says so.
 */
export function takeTurn<Result>(
  response: Response,
  caller: string,
  work: (pause: Pause) => Promise<Result>,
  turn: { onlyReads: boolean; watch?: Watch | undefined },
): Promise<Result> {
  const place = places.get(response);
  if (place === undefined) throw new Error("the request has not passed `shedLoad`");
  return place.takeTurn(caller, work, turn);
}

/**
 * Says that one call of the request only waits from now on, and is not under way. Returns what ends that. Its number is
 * limited where it waits.
 */
export function idle(response: Response): () => void {
  return places.get(response)?.idle() ?? (() => {});
}

/** Sleeps. Throws `unauthenticated` when the caller's credential ends meanwhile. */
function sleepWatched(milliseconds: number, watch: Watch | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => {
      unwatch?.();
      resolve();
    }, milliseconds);
    const unwatch = watch?.(() => {
      unwatch?.();
      clearTimeout(timeout);
      reject(new ApiError("unauthenticated"));
    });
  });
}

const isRpc = ({ path }: Request) => path.startsWith("/trpc/");

/** The number of calls in a request: a batch of typed RPC has several, with commas between their names. */
const callsOf = (request: Request) =>
  isRpc(request) ? Math.min(request.path.split(",").length, MAX_CALLS_PER_REQUEST) : 1;

/** Whether the client may still be sending a body that we are going to read. */
const takesBody = (request: Request) => request.method !== "GET" && request.method !== "HEAD" && hasBody(request);
