import { tracked } from "@trpc/server";
import { cursorOf } from "../../events/cursor.ts";
import { followLog } from "../../events/follow.ts";
import { type LogMessage, StreamQuery } from "../../schemas/eventLog.ts";
import { signedIn } from "../../trpc.ts";

/** The caller's event log as a stream: over REST as plain server-sent events, over typed RPC as a subscription. */
export const stream = signedIn
  .meta({
    rest: { method: "GET", path: "/events/stream" },
    summary: "Follow my event log",
    errors: ["cursor_expired", "limit_reached"],
    takesOwnTurns: true,
  })
  .input(StreamQuery)
  .subscription(async function* ({ ctx, input }) {
    const { after, types, lastEventId } = input;
    for await (const { event, next } of followLog(ctx, { after: lastEventId ?? after, types })) {
      const nextCursor = cursorOf(next);
      const message: LogMessage = { event: event?.event ?? null, nextCursor };
      yield tracked(nextCursor, message);
    }
  });
