import { z } from "zod";
import { apiKeyColumns } from "../../auth/spendLimit.ts";
import { ApiKey } from "../../schemas/apiKey.ts";
import { NoInput, Timestamp } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const ListedKey = ApiKey.extend({
  lastUsedAt: Timestamp.nullable().meta({ description: "When the key was last used; null if it never was." }),
}).meta({ id: "ListedApiKey", description: "An API key, with its last use." });

export const list = sessionOnly
  .meta({
    rest: { method: "GET", path: "/keys" },
    summary: "List my API keys",
    description:
      "Lists your API keys that are neither revoked nor expired, newest first, each with when it was last used and " +
      "what it has spent of its limit.",
  })
  .input(NoInput)
  .output(z.object({ keys: z.array(ListedKey).meta({ description: "Newest first." }) }))
  .query(async ({ ctx }) => {
    const now = ctx.clock.now();
    const keys = await ctx.database.query<z.infer<typeof ListedKey>>(sql`
      SELECT ${apiKeyColumns(now)}, k.last_used_at AS "lastUsedAt" FROM api_keys k
      WHERE k.user_id = ${ctx.userId}::uuid AND k.revoked_at IS NULL AND k.expires_at > ${now.toISOString()}::timestamptz
      ORDER BY k.id DESC`);
    return { keys };
  });
