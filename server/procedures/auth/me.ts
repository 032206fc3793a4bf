import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { NoInput } from "../../schemas/common.ts";
import { scopes } from "../../schemas/scope.ts";
import { User } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

/** Returns the caller, and what their credentials allow. A session has the scope `*`. */
export const me = signedIn
  .meta({ rest: { method: "GET", path: "/auth/me" }, summary: "Who am I" })
  .input(NoInput)
  .output(
    z.object({
      user: User,
      auth: z.object({ kind: z.enum(["session", "apiKey"]), scopes: z.array(z.enum(["*", ...scopes])) }),
    }),
  )
  .query(async ({ ctx }) => {
    const { principal } = ctx;
    const [user] = await ctx.database.query<User>(sql`
      SELECT id, email, display_name AS "displayName", created_at AS "createdAt",
             email_verified_at AS "emailVerifiedAt"
      FROM users WHERE id = ${ctx.userId}::uuid`);
    if (!user) throw new ApiError("unauthenticated");
    return {
      user,
      auth: { kind: principal.kind, scopes: principal.kind === "session" ? ["*" as const] : [...principal.scopes] },
    };
  });
