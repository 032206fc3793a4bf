import { z } from "zod";
import { endSession } from "../../auth/sessions.ts";
import { NoInput } from "../../schemas/common.ts";
import { signedIn } from "../../trpc.ts";

/** Ends the session at once for every copy of its cookie. Does nothing for an API key, which has no session. */
export const logout = signedIn
  .meta({
    rest: { method: "POST", path: "/auth/logout", status: 204 },
    summary: "Sign out",
    ignoresIdempotencyKey: true,
  })
  .input(NoInput)
  .output(z.void())
  .mutation(async ({ ctx }) => {
    if (ctx.principal.kind === "session") {
      await endSession(ctx.database, ctx.principal.sessionId);
      ctx.securityLog.record(ctx, "session.ended");
    }
    ctx.sessionCookie.clear();
  });
