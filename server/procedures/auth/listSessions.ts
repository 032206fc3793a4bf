import { z } from "zod";
import { idOf, NoInput, Timestamp } from "../../schemas/common.ts";
import { SessionOrigin } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const ListedSession = z
  .object({
    id: idOf("session"),
    createdAt: Timestamp.meta({ description: "When the session began." }),
    lastSeenAt: Timestamp.meta({ description: "When it was last used, exact to a minute." }),
    ...SessionOrigin.shape,
    current: z.boolean().meta({ description: "Whether this request was sent with it.", example: true }),
  })
  .meta({ id: "Session", description: "A browser session of yours." });

export const listSessions = sessionOnly
  .meta({
    rest: { method: "GET", path: "/auth/sessions" },
    summary: "List my sessions",
    description:
      "Lists your sessions that have not ended, the one last used first. `current` marks the session of this " +
      "request.",
  })
  .input(NoInput)
  .output(z.object({ sessions: z.array(ListedSession).meta({ description: "The one last used first." }) }))
  .query(async ({ ctx }) => {
    const current = ctx.principal.kind === "session" ? ctx.principal.sessionId : null;
    return {
      sessions: await ctx.database.query<z.infer<typeof ListedSession>>(sql`
        SELECT id, created_at AS "createdAt", last_seen_at AS "lastSeenAt", user_agent AS "userAgent", address, id = ${current}::uuid AS current
        FROM sessions
        WHERE user_id = ${ctx.userId}::uuid AND expires_at > ${ctx.clock.now().toISOString()}::timestamptz
        ORDER BY last_seen_at DESC, created_at DESC, id`),
    };
  });
