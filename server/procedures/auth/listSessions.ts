import { z } from "zod";
import { Id, NoInput, Timestamp } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const ListedSession = z
  .object({
    id: Id,
    createdAt: Timestamp,
    lastSeenAt: Timestamp.meta({ description: "Exact to a minute." }),
    current: z.boolean().meta({ description: "Whether this request was sent with it." }),
  })
  .meta({ id: "Session" });

/** Lists the caller's sessions that have not ended, the one last used first. */
export const listSessions = sessionOnly
  .meta({ rest: { method: "GET", path: "/auth/sessions" }, summary: "List sessions" })
  .input(NoInput)
  .output(z.object({ sessions: z.array(ListedSession) }))
  .query(async ({ ctx }) => {
    const current = ctx.principal.kind === "session" ? ctx.principal.sessionId : null;
    return {
      sessions: await ctx.database.query<z.infer<typeof ListedSession>>(sql`
        SELECT id, created_at AS "createdAt", last_seen_at AS "lastSeenAt", id = ${current}::uuid AS current
        FROM sessions
        WHERE user_id = ${ctx.userId}::uuid AND expires_at > ${ctx.clock.now().toISOString()}::timestamptz
        ORDER BY last_seen_at DESC, created_at DESC, id`),
    };
  });
