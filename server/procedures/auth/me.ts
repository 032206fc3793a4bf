import { z } from "zod";
import { apiKeyColumns } from "../../auth/spendLimit.ts";
import { ApiError } from "../../errors.ts";
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
      "Returns your account, and what the credentials of this request allow. A session has the scope `*`; an API " +
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
            key: ApiKey.meta({
              description: "The key itself, with what is left of its limits. Absent for a session.",
            }).optional(),
          })
          .meta({ id: "CallerCredentials", description: "What these credentials allow." }),
      })
      .meta({ id: "Caller", description: "Who is calling." }),
  )
  .query(async ({ ctx }) => {
    const { principal } = ctx;
    const [user] = await ctx.database.query<User>(sql`
      SELECT id, email, display_name AS "displayName", created_at AS "createdAt",
             email_verified_at AS "emailVerifiedAt"
      FROM users WHERE id = ${ctx.userId}::uuid`);
    if (!user) throw new ApiError("unauthenticated");
    if (principal.kind === "session") return { user, auth: { kind: "session" as const, scopes: ["*" as const] } };
    const [key] = await ctx.database.query<ApiKey>(sql`
      SELECT ${apiKeyColumns(ctx.clock.now())} FROM api_keys k WHERE k.id = ${principal.keyId}::uuid`);
    return { user, auth: { kind: "apiKey" as const, scopes: [...principal.scopes], key } };
  });
