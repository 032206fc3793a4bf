import { z } from "zod";
import { lockCaller } from "../../auth/callerLock.ts";
import { ApiError } from "../../errors.ts";
import { Webhook, webhookInput } from "../../schemas/webhook.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { checkWebhookUrl } from "../../webhooks/checkUrl.ts";
import { addHost, receivingHost } from "../../webhooks/host.ts";
import { assertMayReceive, assertSubscribes, webhookColumns } from "../../webhooks/records.ts";
import { generateSigningSecret } from "../../webhooks/sign.ts";

/** Source: docs/contract.md "Limits". */
const MAX_ENDPOINTS = 100;

export const create = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks", status: 201 },
    summary: "Register a webhook endpoint",
    description:
      "Registers a public HTTPS address to which events are sent as signed POST requests. `signingSecret`, the key " +
      "to verify them with, appears only in this response; to replace it, register another endpoint and delete this " +
      `one. At most ${MAX_ENDPOINTS} endpoints per user. How to verify deliveries: ` +
      "[/docs/webhooks](/docs/webhooks).",
    errors: ["forbidden", "invalid_url", "limit_reached"],
    hasNoDryRun: true,
    showsSecret: true,
  })
  .input(z.strictObject({ ...webhookInput, logEvents: webhookInput.logEvents.default([]) }))
  .output(
    Webhook.extend({
      signingSecret: z.string().meta({
        description: "The key to verify the signatures of deliveries with. It is never shown again.",
        example: "whsec_5257a8695257a8695257a8695257a869",
      }),
    }).meta({ id: "CreatedWebhook", description: "A new endpoint, with its secret." }),
  )
  .mutation(async ({ ctx, input }) => {
    assertSubscribes(input);
    assertMayReceive(ctx.principal, input.logEvents);
    const signingSecret = generateSigningSecret();
    const created = await ctx.claim(async ({ change }) => {
      await checkWebhookUrl(ctx.egress, input.url);
      const host = receivingHost(input.url);
      return change(async (tx) => {
        await lockCaller(tx, ctx.principal);
        await addHost(tx, host);
        const [webhook] = await tx.query<Webhook>(sql`
          INSERT INTO webhook_endpoints AS e (user_id, url, host, events, log_events, signing_secret)
          SELECT ${ctx.userId}::uuid, ${input.url}, ${host}, ${input.events}::text[], ${input.logEvents}::text[],
                 ${signingSecret}
          WHERE (SELECT count(*) FROM webhook_endpoints
                 WHERE user_id = ${ctx.userId}::uuid AND deleted_at IS NULL) < ${MAX_ENDPOINTS}
          RETURNING ${webhookColumns}`);
        if (!webhook) {
          const message = `You already have ${MAX_ENDPOINTS} endpoints: delete one first.`;
          throw new ApiError("limit_reached", { message, limit: MAX_ENDPOINTS });
        }
        return webhook;
      });
    });
    return { ...created, signingSecret };
  });
