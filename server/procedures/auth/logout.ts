import { z } from "zod";
import { endSession } from "../../auth/sessions.ts";
import { NoInput } from "../../schemas/common.ts";
import { signedIn } from "../../trpc.ts";

export const logout = signedIn
  .meta({
    rest: { method: "POST", path: "/auth/logout", status: 204 },
    summary: "Sign out",
    description:
      "Ends the session at once, wherever its cookie was copied to, and clears the cookie. With an API key, which " +
      "has no session, it does nothing.",
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
