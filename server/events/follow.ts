import type { Principal } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import type { Client } from "../limits/address.ts";
import type { LogEventType } from "../schemas/event.ts";
import type { Connection } from "../store/connection.ts";
import type { CallTurns } from "../turns.ts";
import type { LogPosition } from "./cursor.ts";
import type { EventFollower } from "./follower.ts";
import { type After, type LoggedEvent, type Reader, readLog } from "./log.ts";

/** A quiet stream sends something this often, so that no proxy closes it. Source: docs/contract.md "Events and webhooks". */
const HEARTBEAT_MS = 15_000;
/** Events that a stream reads at a time while it catches up. */
const CATCH_UP = 100;
/** What following the log needs of a call. */
interface FollowingCall {
  readonly database: Connection;
  readonly eventFollower: EventFollower;
  readonly principal: Principal;
  readonly client: Client;
  readonly callerLeft: () => AbortSignal;
  readonly turns: CallTurns;
}

interface Question {
  after: After;
  /** Undefined for all. */
  types: readonly LogEventType[] | undefined;
}

/** Every look into the log waits for a turn of its own. */
function look(call: FollowingCall, reader: Reader, question: { after: After; limit: number }) {
  const turn = { onlyReads: true, left: call.callerLeft };
  return call.turns.run(turn, () => readLog(call.database, reader, question));
}

function readerOf(principal: Principal, types: Question["types"]): Reader {
  const keyId = principal.kind === "apiKey" ? principal.keyId : null;
  return { userId: principal.userId, keyId, types: types === undefined ? null : new Set(types) };
}

/**
 * Reads a page of the log. An empty one is held back until something happens, at most `waitMs`. Throws `cursor_expired`,
 * `limit_reached` when the caller waits too often already, `unavailable` when all seats are taken, and `unauthenticated` when
 * their credential ends meanwhile.
 */
export async function readOrWait(
  call: FollowingCall,
  { after, types, limit, waitMs }: Question & { limit: number; waitMs: number },
): Promise<{ events: LoggedEvent[]; next: LogPosition }> {
  const deadlineMs = performance.now() + waitMs;
  const reader = readerOf(call.principal, types);
  const read = (from: After) => look(call, reader, { after: from, limit });
  let page = await read(after);
  if (page.events.length > 0 || waitMs === 0) return page;
  const seat = call.eventFollower.takeSeat(reader, call.client.address);
  const left = call.callerLeft();
  const resume = call.turns.idle();
  try {
    for (;;) {
      const timeoutMs = Math.max(0, deadlineMs - performance.now());
      const { why, events, next } = await seat.wait(page.next, { timeoutMs, signal: left });
      assertValid(left);
      if (why !== "behind")
        return { events: events.slice(0, limit), next: events[limit] ? (events[limit - 1] ?? next) : next };
      page = await read(page.next).catch((error: unknown) => {
        // The end of the log was lost, and what was read since the client's own place with it. That may still be there.
        if (isExpired(error) && after !== "latest") return read(after);
        throw error;
      });
      if (page.events.length > 0) return page;
    }
  } finally {
    resume();
    seat.leave();
  }
}

/** An event, or null when only the place has changed or time has passed; and where to go on behind it. */
export interface Step {
  event: LoggedEvent | null;
  next: LogPosition;
}

/**
 * Follows the log until the client leaves. The first step comes at once, and later ones at least every 15 seconds. Throws
 * what `readOrWait` throws at the start, and later `unavailable` when the end of the log was lost, the process stops or the seat passes to somebody else: the caller connects
 * again.
 */
export async function* followLog(call: FollowingCall, { after, types }: Question): AsyncGenerator<Step, void> {
  const reader = readerOf(call.principal, types);
  const read = (from: After) => look(call, reader, { after: from, limit: CATCH_UP });
  const seat = call.eventFollower.takeSeat(reader, call.client.address);
  const left = call.callerLeft();
  let resume = () => {};
  try {
    let page = await read(after);
    // A client may be slow to take what it is sent. That is no work for us.
    resume = call.turns.idle();
    if (page.events.length === 0) yield { event: null, next: page.next };
    for (;;) {
      for (const event of page.events) yield { event, next: event };
      let place = page.next;
      let isBehind = page.isFull;
      while (!isBehind) {
        const { why, events, next } = await seat.wait(place, { timeoutMs: HEARTBEAT_MS, signal: left });
        assertValid(left);
        if (left.aborted) return;
        if (why === "over") throw new ApiError("unavailable");
        for (const event of events) yield { event, next: event };
        if (why === "nothing") yield { event: null, next };
        place = next;
        isBehind = why === "behind";
      }
      assertValid(left);
      if (left.aborted) return;
      page = await read(place).catch((error: unknown) => {
        // The end of the log was lost. What the client has been told may still be there, and it learns so when it connects again.
        throw isExpired(error) ? new ApiError("unavailable") : error;
      });
    }
  } finally {
    resume();
    seat.leave();
  }
}

const isExpired = (error: unknown) => error instanceof ApiError && error.code === "cursor_expired";

/** Throws `unauthenticated` if the caller's credential has ended. A client that has left is no failure. */
function assertValid(left: AbortSignal): void {
  const { reason } = left;
  if (reason instanceof ApiError && reason.code === "unauthenticated") throw reason;
}
