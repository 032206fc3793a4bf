import { z } from "zod";
import { generateApiKey, hashApiKey } from "../../auth/apiKeys.ts";
import { ApiKey, Label, Scope } from "../../schemas/apiKey.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

/** Creates an API key. `raw` is shown only here: the service stores only its hash and its last four characters. */
export const create = sessionOnly
  .meta({ rest: { method: "POST", path: "/keys", status: 201 }, summary: "Create an API key", showsSecret: true })
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
    const key = await ctx.change((tx) =>
      queryOne<z.infer<typeof ApiKey>>(
        tx,
        sql`
        INSERT INTO api_keys (user_id, label, scopes, key_hash, last4)
        VALUES (${ctx.userId}::uuid, ${input.label}, ${input.scopes}::text[], ${hashApiKey(raw)}, ${raw.slice(-4)})
        RETURNING id, label, scopes, last4, created_at AS "createdAt"`,
      ),
    );
    return { ...key, raw };
  });
