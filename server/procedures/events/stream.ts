import { tracked } from "@trpc/server";
import { followLog } from "../../events/follow.ts";
import { afterOf } from "../../events/log.ts";
import { type LogMessage, StreamQuery } from "../../schemas/eventLog.ts";
import { signedIn } from "../../trpc.ts";

/** Over REST as plain server-sent events, over typed RPC as a subscription. */
export const stream = signedIn
  .meta({
    rest: { method: "GET", path: "/events/stream" },
    summary: "Follow my event log",
    description:
      "Sends what `GET /events` returns as server-sent events: each message has an event as `data`, in JSON with " +
      "`type`, and the cursor behind it as `id`. A client that reconnects with `Last-Event-ID`, as browsers do by " +
      "themselves, continues where it stopped. A quiet stream has a comment every 15 seconds, with the cursor that it " +
      "has reached. It ends with the session or key, and when the server restarts.",
    errors: ["cursor_expired", "limit_reached"],
    takesOwnTurns: true,
  })
  .input(StreamQuery.meta({ id: "StreamEvents" }))
  .subscription(async function* ({ ctx, input }) {
    const { after, types, lastEventId } = input;
    const { eventCursors } = ctx;
    const from =
      lastEventId === undefined ? afterOf(eventCursors, after) : afterOf(eventCursors, lastEventId, "lastEventId");
    for await (const { event, next } of followLog(ctx, { after: from, types })) {
      const nextCursor = eventCursors.encrypt(next);
      const message: LogMessage = { event: event?.event ?? null, nextCursor };
      yield tracked(nextCursor, message);
    }
  });
