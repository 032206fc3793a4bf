import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { api, type LogEvent } from "./client.ts";
import { logQuery, meQuery } from "./queries.ts";

/**
 * Changes appear by the event stream. All tabs of a person share one: the tab that holds a lock reads it and tells the
 * others, because browsers open only six connections to one host over HTTP/1.1.
 */

type Message =
  | { kind: "event"; event: LogEvent | null; nextCursor: string }
  | { kind: "state"; live: boolean }
  /** A tab was opened, and asks whether events arrive. */
  | { kind: "hello" };

let live = false;
let newTasks = 0;
const watchers = new Set<() => void>();

function change(apply: () => void): void {
  apply();
  for (const watcher of watchers) watcher();
}

const watch = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

/** While events do not arrive, what is on the screen is read again this often. */
const POLL_MS = 15_000;

/** A job tells people of an event a moment after it. */
const TOLD_AFTER_MS = 1_500;

/** How often a query is read again, whatever happens: by default never while events arrive. */
export const pollWithoutEvents =
  (withEventsMs: number | false = false) =>
  () =>
    live ? withEventsMs : POLL_MS;

/** The number of tasks that were posted since the feed was last read; they wait until somebody asks for them. */
export const useNewTasks = () => useSyncExternalStore(watch, () => newTasks);
export const resetNewTasks = () => change(() => (newTasks = 0));

/** Which reads an event makes old, by the first part of their key. */
function staleAfter({ data }: LogEvent): QueryKey[] {
  if ("payout" in data) return [["payouts"], ["wallet"]];
  if ("topup" in data) return [["wallet"]];
  if ("approval" in data) return [["approvals"], ["approval", data.approval.id], ["wallet"]];
  if ("export" in data) return [["exports"]];
  if ("question" in data) return [["task", data.task.id]];
  if ("message" in data) return [["messages", data.message.bidId], ["conversations"], ["dispute"]];
  if ("key" in data) return [["keys"]];
  if ("user" in data) return [["me"]];
  const people = [data.task.buyer, ...("bid" in data ? [data.bid.bidder] : [])];
  return [
    ...[["task"], ["tasks"], ["bids"], ["bid"], ["wallet"], ["dispute"], ["disputes"]],
    // Of everybody else, nothing has happened.
    ...people.map(({ id }) => ["reputation", id]),
  ];
}

/** Reads everything on the screen again, if something has happened since. */
async function catchUp(queryClient: QueryClient, cursor: string): Promise<void> {
  const missed = await api.events.list.query({ after: cursor, limit: 1 }).catch(() => null);
  if (missed?.events.length === 0) return;
  await queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "feed" });
}

let reading: ReturnType<typeof setTimeout> | undefined;

/** Reads again what an event has made old, and, once after several, the notifications about them. */
function readAgain(queryClient: QueryClient, event: LogEvent): void {
  for (const queryKey of staleAfter(event)) void queryClient.invalidateQueries({ queryKey });
  clearTimeout(reading);
  reading = setTimeout(() => {
    for (const queryKey of [meQuery.queryKey, ["notifications"]]) void queryClient.invalidateQueries({ queryKey });
  }, TOLD_AFTER_MS);
}

/** Follows the events of this person until the component is removed; `userId` is null for a visitor. */
export function useLiveEvents(queryClient: QueryClient, userId: string | null): void {
  useEffect(() => {
    if (userId === null) return;
    const stopping = new AbortController();
    const channel = new BroadcastChannel(`rebid.events.${userId}`);
    let cursor = queryClient.getQueryData(logQuery.queryKey) ?? "latest";
    let isReader = false;
    const receive = (message: Message) => {
      if (message.kind === "hello") {
        if (isReader) channel.postMessage({ kind: "state", live } satisfies Message);
        return;
      }
      if (message.kind === "state") {
        if (message.live === live) return;
        change(() => (live = message.live));
        // The reader's stream goes on where its log ended; any other tab may have missed something. Without events, all poll.
        if (live && !isReader) void catchUp(queryClient, cursor);
        return;
      }
      cursor = message.nextCursor;
      const { event } = message;
      if (event === null) return;
      if (event.type === "task.created" && event.data.task.buyer.id !== userId) change(() => newTasks++);
      else readAgain(queryClient, event);
    };
    const tell = (message: Message) => {
      channel.postMessage(message);
      receive(message);
    };
    channel.onmessage = ({ data }: MessageEvent<Message>) => receive(data);
    channel.postMessage({ kind: "hello" } satisfies Message);
    const follow = () =>
      new Promise<void>((done) => {
        isReader = true;
        const subscription = api.events.stream.subscribe(
          { after: cursor },
          {
            onConnectionStateChange: ({ state }) => tell({ kind: "state", live: state === "pending" }),
            onData: ({ data: { event, nextCursor } }) => tell({ kind: "event", event, nextCursor }),
            onError: () => {
              tell({ kind: "state", live: false });
              void queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
            },
          },
        );
        stopping.signal.addEventListener("abort", () => {
          subscription.unsubscribe();
          done();
        });
      });
    navigator.locks.request(`rebid.events.${userId}`, { signal: stopping.signal }, follow).catch(() => {
      // Signed out, or the page was left, before it was this tab's turn.
    });
    return () => {
      stopping.abort();
      channel.close();
      change(() => (live = false));
    };
  }, [queryClient, userId]);
}
