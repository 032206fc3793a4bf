import { z } from "zod";
import { newestPushKey } from "../../notifications/pushKeys.ts";
import { NoInput } from "../../schemas/common.ts";
import { PushSubscription } from "../../schemas/push.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

const ListedSubscription = PushSubscription.extend({
  current: z.boolean().meta({ description: "Whether it belongs to the session of this request.", example: true }),
}).meta({ id: "ListedPushSubscription", description: "A browser of yours that shows notifications." });

export const listPush = sessionOnly
  .meta({
    rest: { method: "GET", path: "/notifications/push" },
    summary: "List my browsers with push",
    description:
      "Returns the key that a browser needs to subscribe to Web Push, and your browsers that have subscribed, oldest " +
      "first. When `publicKey` is no longer the one that a browser subscribed with, it should subscribe again; until " +
      "then, the old one goes on working.",
  })
  .input(NoInput)
  .output(
    z.object({
      publicKey: z.string().meta({
        description: "The browser's `applicationServerKey`: an uncompressed P-256 public key in base64url.",
        example: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      }),
      subscriptions: z.array(ListedSubscription).meta({ description: "Oldest first." }),
    }),
  )
  .query(async ({ ctx }) => {
    const current = ctx.principal.kind === "session" ? ctx.principal.sessionId : null;
    const { publicKey } = await newestPushKey(ctx.database);
    const subscriptions = await ctx.database.query<z.infer<typeof ListedSubscription>>(sql`
      SELECT p.id, p.created_at AS "createdAt", p.session_id = ${current}::uuid AS current
      FROM push_subscriptions p JOIN sessions s ON s.id = p.session_id
      WHERE p.user_id = ${ctx.userId}::uuid AND s.expires_at > ${ctx.clock.now().toISOString()}::timestamptz
      ORDER BY p.created_at, p.id`);
    return { publicKey, subscriptions };
  });
