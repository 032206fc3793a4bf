import { z } from "zod";
import { generateApiKey, MAX_KEYS } from "../../auth/apiKeys.ts";
import { lockCaller } from "../../auth/callerLock.ts";
import { hashSecret } from "../../auth/secretHash.ts";
import { apiKeyColumns } from "../../auth/spendLimit.ts";
import { ApiError } from "../../errors.ts";
import { ApiKey, apiKeyInput } from "../../schemas/apiKey.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

/** The service stores only the hash of a key, and its last four characters. */
export const create = sessionOnly
  .meta({
    rest: { method: "POST", path: "/keys", status: 201 },
    summary: "Create an API key",
    description:
      "Creates an API key for an agent, with only the scopes that you list and, if you like, an expiry, a spend " +
      "limit, and an amount above which it has to ask you. The whole key, `raw`, appears only in this response. None of this can be changed later: create " +
      `another key and revoke this one. At most ${MAX_KEYS} keys per user; revoked and expired ones do not count.`,
    errors: ["limit_reached"],
    showsSecret: true,
  })
  .input(z.strictObject(apiKeyInput))
  .output(
    ApiKey.extend({
      raw: z.string().meta({
        description: "The whole key: `rb_live_` and 22 characters. It is never shown again.",
        example: "rb_live_7XKQ2MZP4TYN6WBC5DHEQ7XA",
      }),
    }).meta({ id: "CreatedApiKey", description: "A new API key, with the key itself." }),
  )
  .mutation(async ({ ctx, input }) => {
    const raw = generateApiKey();
    const { label, scopes, expiresAt, spendLimit, approval } = input;
    const created = await ctx.change(async (tx) => {
      const now = ctx.clock.now();
      if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) {
        throw new ApiError("invalid_input", { issues: [{ path: "expiresAt", message: "Must be in the future." }] });
      }
      await lockCaller(tx, ctx.principal);
      const [key] = await tx.query<ApiKey>(sql`
        INSERT INTO api_keys AS k (user_id, label, scopes, key_hash, last4, expires_at, spend_limit_cents, spend_limit_per,
                                   approval_above_cents)
        SELECT ${ctx.userId}::uuid, ${label}, ${scopes}::text[], ${hashSecret(raw)}, ${raw.slice(-4)},
               ${expiresAt ?? "infinity"}::timestamptz, ${spendLimit?.cents ?? null}, ${spendLimit?.per ?? null},
               ${approval?.aboveCents ?? null}
        WHERE (SELECT count(*) FROM api_keys
               WHERE user_id = ${ctx.userId}::uuid AND revoked_at IS NULL
                 AND expires_at > ${now.toISOString()}::timestamptz) < ${MAX_KEYS}
        RETURNING ${apiKeyColumns(now)}`);
      if (!key) {
        const message = `You already have ${MAX_KEYS} API keys: revoke one first.`;
        throw new ApiError("limit_reached", { message, limit: MAX_KEYS });
      }
      tx.events.record("key.created", { key }, [ctx.userId]);
      tx.onCommit(() => ctx.securityLog.record(ctx, "key.created", { createdKeyId: key.id, scopes: key.scopes }));
      return key;
    });
    return { ...created, raw };
  });
