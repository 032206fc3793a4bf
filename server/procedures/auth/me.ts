import { z } from "zod";
import { apiKeyColumns } from "../../auth/spendLimit.ts";
import { ApiError } from "../../errors.ts";
import { ApiKey } from "../../schemas/apiKey.ts";
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
        key: ApiKey.meta({
          description: "The key itself, with what is left of its limits. Absent for a session.",
        }).optional(),
      }),
    }),
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
