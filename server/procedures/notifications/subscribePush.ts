import { z } from "zod";
import { lockCaller } from "../../auth/callerLock.ts";
import { assertOnCurve } from "../../notifications/browserKey.ts";
import { newestPushKey } from "../../notifications/pushKeys.ts";
import { PushSubscription, pushInput } from "../../schemas/push.ts";
import { queryOne, sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";
import { checkWebhookUrl } from "../../webhooks/checkUrl.ts";

/** Each is a request a notification. Source: docs/contract.md "Limits". */
const MAX_SUBSCRIPTIONS = 10;

export const subscribePush = sessionOnly
  .meta({
    rest: { method: "POST", path: "/notifications/push", status: 201 },
    summary: "Turn push on for this browser",
    description:
      "Stores the push subscription of the browser in which you are signed in. It ends with the session, and when " +
      `the push service no longer knows it. A session has one: another replaces it. At most ${MAX_SUBSCRIPTIONS} ` +
      "browsers are kept, the newest.",
    errors: ["invalid_url"],
    hasNoDryRun: true,
  })
  .input(z.strictObject(pushInput).meta({ id: "SubscribePush" }))
  .output(z.object({ subscription: PushSubscription }))
  .mutation(({ ctx, input }) =>
    ctx.claim(async ({ change }) => {
      assertOnCurve(input.keys.p256dh);
      await checkWebhookUrl(ctx.egress, input.endpoint);
      return change(async (tx) => {
        await lockCaller(tx, ctx.principal);
        const { generation } = await newestPushKey(tx);
        await tx.query(sql`
          DELETE FROM push_subscriptions
          WHERE session_id = ${ctx.principal.sessionId}::uuid OR id IN (
            SELECT id FROM push_subscriptions WHERE user_id = ${ctx.userId}::uuid
            ORDER BY created_at DESC, id DESC OFFSET ${MAX_SUBSCRIPTIONS - 1})`);
        // A browser in which somebody else signs in has the same endpoint and secret: it shows nothing to the former user.
        const subscription = await queryOne<z.infer<typeof PushSubscription>>(
          tx,
          sql`
          INSERT INTO push_subscriptions (session_id, user_id, endpoint, p256dh, auth, generation)
          VALUES (${ctx.principal.sessionId}::uuid, ${ctx.userId}::uuid, ${input.endpoint},
                  ${input.keys.p256dh}, ${input.keys.auth}, ${generation})
          ON CONFLICT (endpoint, auth) DO UPDATE SET
            id = excluded.id, session_id = excluded.session_id, user_id = excluded.user_id, p256dh = excluded.p256dh,
            generation = excluded.generation, created_at = excluded.created_at
          RETURNING id, created_at AS "createdAt"`,
        );
        return { subscription };
      });
    }),
  );
