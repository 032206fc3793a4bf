import { readOrWait } from "../../events/follow.ts";
import { afterOf } from "../../events/log.ts";
import { LogPage, LogQuery } from "../../schemas/eventLog.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/events" },
    summary: "Read my event log",
    description:
      "Returns what concerns you, oldest first. Each event comes exactly once, in one order, with the body that " +
      "webhooks have. Send `nextCursor` back as `after` to go on; it is never null. With `wait`, an empty answer is " +
      "held back until something happens.",
    errors: ["cursor_expired", "limit_reached"],
    takesOwnTurns: true,
  })
  .input(LogQuery)
  .output(LogPage)
  .query(async ({ ctx, input }) => {
    const { after, types, limit, wait } = input;
    const { events, next } = await readOrWait(ctx, {
      after: afterOf(ctx.eventCursors, after),
      types,
      limit,
      waitMs: wait * 1000,
    });
    return { events: events.map(({ event }) => event), nextCursor: ctx.eventCursors.encrypt(next) };
  });
