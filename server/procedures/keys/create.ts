import { z } from "zod";
import { generateApiKey, hashApiKey } from "../../auth/apiKeys.ts";
import { ApiError } from "../../errors.ts";
import { ApiKey, Label, Scope } from "../../schemas/apiKey.ts";
import { sql } from "../../store/connection.ts";
import { lockUser } from "../../store/userLock.ts";
import { sessionOnly } from "../../trpc.ts";

/** Source: docs/contract.md "Limits". */
const MAX_KEYS = 500;

/** Creates an API key. `raw` is shown only here: the service stores only its hash and its last four characters. */
export const create = sessionOnly
  .meta({
    rest: { method: "POST", path: "/keys", status: 201 },
    summary: "Create an API key",
    description: `At most ${MAX_KEYS} keys per user; revoked ones do not count.`,
    errors: ["limit_reached"],
    showsSecret: true,
  })
  .input(
    z.strictObject({
      label: Label,
      scopes: z
        .array(Scope)
        .max(32)
        .transform((scopes) => [...new Set(scopes)]),
    }),
  )
  .output(ApiKey.extend({ raw: z.string().meta({ description: "The whole key: `rb_live_` and 22 characters." }) }))
  .mutation(async ({ ctx, input }) => {
    const raw = generateApiKey();
    const created = await ctx.change(async (tx) => {
      await lockUser(tx, ctx.userId);
      const [key] = await tx.query<z.infer<typeof ApiKey>>(sql`
        INSERT INTO api_keys (user_id, label, scopes, key_hash, last4)
        SELECT ${ctx.userId}::uuid, ${input.label}, ${input.scopes}::text[], ${hashApiKey(raw)}, ${raw.slice(-4)}
        WHERE (SELECT count(*) FROM api_keys
               WHERE user_id = ${ctx.userId}::uuid AND revoked_at IS NULL) < ${MAX_KEYS}
        RETURNING id, label, scopes, last4, created_at AS "createdAt"`);
      if (!key) {
        const message = `You already have ${MAX_KEYS} API keys: revoke one first.`;
        throw new ApiError("limit_reached", { message, limit: MAX_KEYS });
      }
      tx.onCommit(() => ctx.securityLog.record(ctx, "key.created", { createdKeyId: key.id, scopes: key.scopes }));
      return key;
    });
    return { ...created, raw };
  });
