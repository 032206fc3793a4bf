import type { Call } from "./call.ts";
import { type EventFollower, type FollowOptions, followEvents } from "./follow.ts";
import { EventsApi } from "./generated/namespaces.ts";
import type { EventPage, ListEvents, LogEvent, LogEventType } from "./generated/types.ts";
import type { RequestOptions } from "./options.ts";

/** The event log, page by page or as it grows. */
export class Events extends EventsApi {
  /**
   * Read my event log.
   *
   * Returns what concerns you, oldest first, each event once. Send `nextCursor` back as `after` to go on. With `wait`, an
   * empty answer is held back until something happens, for so many seconds at most, which come on top of `timeoutMs`.
   *
   * @throws {RebidError} those of `EventsApi.list`.
   */
  override list(input: ListEvents = {}, options: RequestOptions = {}): Call<EventPage> {
    return this.requests.readWaiting(input.wait ?? 0, "/events", input, options);
  }

  /**
   * Follows the log: returns what happened since `after`, and then each event as it happens, in the log's order and each
   * once. When the connection breaks or the service restarts, it goes on behind the last event, for as long as it takes.
   * It ends when you leave the loop; when `signal` is aborted, it rejects with the signal's reason.
   *
   * @throws {GoneError} `cursor_expired` (410): the events behind `after` are no longer kept, or the service's database has
   * lost them. Begin again without `after`, and compare with what you know, such as the `status` of your tasks.
   * @throws {RebidError} `unauthenticated` (401) when the key or session has ended, also in between; `limit_reached` (409)
   * if you have too many streams.
   */
  follow<Type extends LogEventType = LogEventType>(
    options: FollowOptions<Type> = {},
  ): EventFollower<Extract<LogEvent, { type: Type }>> {
    return followEvents(this.requests, options);
  }
}
