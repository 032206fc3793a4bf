import { RebidConnectionError, RebidError } from "./errors.ts";
import { readMessages, type StreamMessage } from "./eventStream.ts";
import type { LogEvent, LogEventType } from "./generated/types.ts";
import type { RequestOptions } from "./options.ts";
import type { Requests } from "./requests.ts";
import { isWorthRetrying, retryDelayMs } from "./retries.ts";

export interface FollowOptions<Type extends LogEventType = LogEventType> extends RequestOptions {
  /** Only events of these types; all by default. */
  types?: readonly Type[] | undefined;
  /** A `cursor` from before. Left out: from the oldest event that is kept; `latest`: from now. */
  after?: string | undefined;
}

/** The event log as it grows: `for await (const event of rebid.events.follow({ after }))`. It never ends by itself. */
export interface EventFollower<Event extends LogEvent = LogEvent> extends AsyncIterable<Event> {
  /** Goes on behind the event that was returned last, as `after` of another call. Store it once an event is dealt with. */
  readonly cursor: string | undefined;
}

/** A quiet stream has a comment every 15 seconds. Without one for so long, the connection is dead. */
const IDLE_MS = 45_000;

export function followEvents<Type extends LogEventType>(
  requests: Requests,
  { types, after, ...options }: FollowOptions<Type>,
): EventFollower<Extract<LogEvent, { type: Type }>> {
  let cursor = after;
  const connect = () => requests.transport.open(streamPath(types, cursor), options, IDLE_MS);

  async function* follow(): AsyncGenerator<Extract<LogEvent, { type: Type }>, void, undefined> {
    const { transport } = requests;
    let failures = 0;
    let hasConnected = false;
    for (;;) {
      let retryAfter: number | undefined;
      try {
        // The first connection is like any call: it gives up after the client's retries.
        const body = await (hasConnected
          ? connect()
          : transport.withRetries("GET /events/stream", options, "read", connect));
        hasConnected = true;
        for await (const message of readMessages(body)) {
          failures = 0;
          cursor = message.id ?? cursor;
          if (message.data !== "") yield eventOf<Extract<LogEvent, { type: Type }>>(message);
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!hasConnected || !isWorthRetrying(error, "read")) throw error;
        retryAfter = error instanceof RebidError ? error.retryAfter : undefined;
      }
      await transport.timing.sleep(retryDelayMs(failures++, retryAfter, transport.timing.random), options.signal);
    }
  }

  return {
    get cursor() {
      return cursor;
    },
    [Symbol.asyncIterator]: follow,
  };
}

function streamPath(types: readonly string[] | undefined, after: string | undefined): string {
  const query = new URLSearchParams({
    ...(types !== undefined && { types: types.join(",") }),
    ...(after !== undefined && { after }),
  });
  return query.size === 0 ? "/events/stream" : `/events/stream?${query}`;
}

function eventOf<Event extends LogEvent>({ data }: StreamMessage): Event {
  try {
    return JSON.parse(data) as Event; // the service sends only the types that were asked for
  } catch (cause) {
    throw new RebidConnectionError("The event stream is garbled.", { cause });
  }
}
