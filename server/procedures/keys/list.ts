import { z } from "zod";
import { ApiKey } from "../../schemas/apiKey.ts";
import { NoInput, Timestamp } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const ListedKey = ApiKey.extend({ lastUsedAt: Timestamp.nullable() }).meta({ id: "ListedApiKey" });

/** Lists the caller's keys, newest first, without revoked ones. */
export const list = sessionOnly
  .meta({ rest: { method: "GET", path: "/keys" }, summary: "List API keys" })
  .input(NoInput)
  .output(z.object({ keys: z.array(ListedKey) }))
  .query(async ({ ctx }) => ({
    keys: await ctx.database.query<z.infer<typeof ListedKey>>(sql`
      SELECT id, label, scopes, last4, created_at AS "createdAt", last_used_at AS "lastUsedAt"
      FROM api_keys WHERE user_id = ${ctx.userId}::uuid AND revoked_at IS NULL ORDER BY id DESC`),
  }));
