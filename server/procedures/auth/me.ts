import { z } from "zod";
import { mayModerate } from "../../auth/principal.ts";
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
      auth: z.object({
        kind: z.enum(["session", "apiKey"]),
        scopes: z.array(z.enum(["*", ...scopes])),
        moderator: z.boolean().meta({ description: "Whether this is a session that may do what moderators do." }),
      }),
      role: z.enum(["member", "moderator"]).meta({
        description: "A moderator may need a session with a second factor to act as one: see `auth.moderator`.",
      }),
      hasSecondFactor: z.boolean().meta({ description: "Whether a login to this account needs a code." }),
    }),
  )
  .query(async ({ ctx }) => {
    const { principal, settings } = ctx;
    type Account = User & { role: "member" | "moderator"; hasSecondFactor: boolean };
    const [account] = await ctx.database.query<Account>(sql`
      SELECT id, email, display_name AS "displayName", created_at AS "createdAt",
             email_verified_at AS "emailVerifiedAt", role,
             EXISTS (SELECT 1 FROM totp_factors f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL) AS "hasSecondFactor"
      FROM users u WHERE id = ${ctx.userId}::uuid`);
    if (!account) throw new ApiError("unauthenticated");
    const { role, hasSecondFactor, ...user } = account;
    return {
      user,
      auth: {
        kind: principal.kind,
        scopes: principal.kind === "session" ? ["*" as const] : [...principal.scopes],
        moderator: mayModerate(principal, settings),
      },
      role,
      hasSecondFactor,
    };
  });
