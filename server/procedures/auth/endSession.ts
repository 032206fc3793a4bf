import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const endSession = sessionOnly
  .meta({
    rest: { method: "DELETE", path: "/auth/sessions/{id}", status: 204 },
    summary: "End one of my sessions",
    description:
      "Ends one of your sessions at once, wherever its cookie was copied to. It may be the current one. Another " +
      "user's session is `not_found`.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("session") }))
  .output(z.void())
  .mutation(async ({ ctx, input }) => {
    await ctx.change(async (tx) => {
      const [ended] = await tx.query(sql`
        DELETE FROM sessions WHERE id = ${input.id}::uuid AND user_id = ${ctx.userId}::uuid RETURNING 1`);
      if (!ended) throw new ApiError("not_found");
      tx.onCommit(() => ctx.securityLog.record(ctx, "session.ended", { endedSessionId: input.id }));
    });
    if (ctx.principal.kind === "session" && ctx.principal.sessionId === input.id) ctx.sessionCookie.clear();
  });
