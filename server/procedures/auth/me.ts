import { z } from "zod";
import { mayModerate } from "../../auth/principal.ts";
import { apiKeyColumns } from "../../auth/spendLimit.ts";
import { ApiError } from "../../errors.ts";
import { toldTo } from "../../notifications/records.ts";
import { ApiKey } from "../../schemas/apiKey.ts";
import { NoInput } from "../../schemas/common.ts";
import { scopes } from "../../schemas/scope.ts";
import { User } from "../../schemas/user.ts";
import { sql } from "../../store/connection.ts";
import { signedIn } from "../../trpc.ts";

export const me = signedIn
  .meta({
    rest: { method: "GET", path: "/auth/me" },
    summary: "Read my account",
    description:
      "Returns your account, how much you have not read, and what the credentials of this request allow. A session has the scope `*`; an API " +
      "key has the scopes that it was created with.",
  })
  .input(NoInput)
  .output(
    z
      .object({
        user: User.meta({ description: "You." }),
        auth: z
          .object({
            kind: z
              .enum(["session", "apiKey"])
              .meta({ description: "How this request is authenticated.", example: "apiKey" }),
            scopes: z
              .array(z.enum(["*", ...scopes]))
              .meta({ description: "What it may do; `*` is everything.", example: ["task:write"] }),
            moderator: z.boolean().meta({
              description: "Whether this is a session that may do what moderators do.",
              example: false,
            }),
            key: ApiKey.meta({
              description: "The key itself, with what is left of its limits. Absent for a session.",
            }).optional(),
          })
          .meta({ id: "CallerCredentials", description: "What these credentials allow." }),
        role: z.enum(["member", "moderator"]).meta({
          description: "A moderator may need a session with a second factor to act as one: see `auth.moderator`.",
          example: "member",
        }),
        hasSecondFactor: z
          .boolean()
          .meta({ description: "Whether a login to this account needs a code.", example: false }),
        unreadCount: z.int32().meta({ description: "Notifications that you have not marked as read.", example: 0 }),
      })
      .meta({ id: "Caller", description: "Who is calling." }),
  )
  .query(async ({ ctx }) => {
    const { principal, settings } = ctx;
    type Account = User & { role: "member" | "moderator"; hasSecondFactor: boolean; unreadCount: number };
    const [account] = await ctx.database.query<Account>(sql`
      SELECT id, email, display_name AS "displayName", created_at AS "createdAt",
             email_verified_at AS "emailVerifiedAt", time_zone AS "timeZone", role,
             EXISTS (SELECT 1 FROM totp_factors f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL) AS "hasSecondFactor",
             (SELECT count(*)::int FROM notifications n WHERE n.user_id = u.id AND NOT n.read ${toldTo(principal)}) AS "unreadCount"
      FROM users u WHERE id = ${ctx.userId}::uuid`);
    if (!account) throw new ApiError("unauthenticated");
    const { role, hasSecondFactor, unreadCount, ...user } = account;
    const caller = { user, role, hasSecondFactor, unreadCount };
    if (principal.kind === "session") {
      const auth = { kind: "session" as const, scopes: ["*" as const], moderator: mayModerate(principal, settings) };
      return { ...caller, auth };
    }
    const [key] = await ctx.database.query<ApiKey>(sql`
      SELECT ${apiKeyColumns(ctx.clock.now())} FROM api_keys k WHERE k.id = ${principal.keyId}::uuid`);
    const auth = { kind: "apiKey" as const, scopes: [...principal.scopes], key, moderator: false };
    return { ...caller, auth };
  });
