import { z } from "zod";
import { apiKeyColumns } from "../../auth/spendLimit.ts";
import { ApiKey } from "../../schemas/apiKey.ts";
import { NoInput, Timestamp } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const ListedKey = ApiKey.extend({ lastUsedAt: Timestamp.nullable() }).meta({ id: "ListedApiKey" });

/** Lists the caller's keys, newest first, without those that were revoked or have expired. */
export const list = sessionOnly
  .meta({ rest: { method: "GET", path: "/keys" }, summary: "List API keys" })
  .input(NoInput)
  .output(z.object({ keys: z.array(ListedKey) }))
  .query(async ({ ctx }) => {
    const now = ctx.clock.now();
    const keys = await ctx.database.query<z.infer<typeof ListedKey>>(sql`
      SELECT ${apiKeyColumns(now)}, k.last_used_at AS "lastUsedAt" FROM api_keys k
      WHERE k.user_id = ${ctx.userId}::uuid AND k.revoked_at IS NULL AND k.expires_at > ${now.toISOString()}::timestamptz
      ORDER BY k.id DESC`);
    return { keys };
  });
