import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { Webhook, webhookInput } from "../../schemas/webhook.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { checkWebhookUrl } from "../../webhooks/checkUrl.ts";
import { webhookColumns } from "../../webhooks/records.ts";
import { generateSigningSecret } from "../../webhooks/sign.ts";

/** Source: docs/contract.md "Limits". */
const MAX_ENDPOINTS = 20;

/** Registers an endpoint. `signingSecret` is shown only here. */
export const create = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks", status: 201 },
    summary: "Register a webhook endpoint",
    description: `At most ${MAX_ENDPOINTS} endpoints per user. How to verify deliveries: [/docs/webhooks](/docs/webhooks).`,
    errors: ["invalid_url"],
    showsSecret: true,
  })
  .input(z.strictObject(webhookInput))
  .output(
    Webhook.extend({
      signingSecret: z
        .string()
        .meta({ description: "`whsec_…`: the key to verify the signatures of deliveries with." }),
    }),
  )
  .mutation(async ({ ctx, input }) => {
    const signingSecret = generateSigningSecret();
    const webhook = await ctx.claim(async () => {
      await checkWebhookUrl(ctx.egress, input.url);
      return ctx.change(async (tx) => {
        // A user's registrations run one at a time: parallel ones would all see the same count.
        await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || ${ctx.userId}, 0))`);
        const [webhook] = await tx.query<Webhook>(sql`
        INSERT INTO webhook_endpoints AS e (user_id, url, events, signing_secret)
        SELECT ${ctx.userId}::uuid, ${input.url}, ${input.events}::text[], ${signingSecret}
        WHERE (SELECT count(*) FROM webhook_endpoints
               WHERE user_id = ${ctx.userId}::uuid AND deleted_at IS NULL) < ${MAX_ENDPOINTS}
        RETURNING ${webhookColumns}`);
        if (!webhook) {
          const message = `You already have ${MAX_ENDPOINTS} endpoints: delete one first.`;
          throw new ApiError("invalid_input", { message, issues: [{ path: "", message }] });
        }
        return webhook;
      });
    });
    return { ...webhook, signingSecret };
  });
