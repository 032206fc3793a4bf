import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { EgressRefused } from "../../gateways/egressErrors.ts";
import { Webhook, webhookInput } from "../../schemas/webhook.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { webhookColumns } from "../../webhooks/records.ts";
import { generateSigningSecret } from "../../webhooks/sign.ts";

const MAX_ENDPOINTS = 20;

/** Registers an endpoint. `signingSecret` is shown only here. */
export const create = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks", status: 201 },
    summary: "Register a webhook endpoint",
    description: `At most ${MAX_ENDPOINTS} endpoints a user. How to verify deliveries: [/docs/webhooks](/docs/webhooks).`,
    errors: ["invalid_url"],
  })
  .input(z.strictObject(webhookInput))
  .output(
    Webhook.extend({
      signingSecret: z.string().meta({ description: "`whsec_…`: verifies the signature of what arrives." }),
    }),
  )
  .mutation(async ({ ctx, input }) => {
    await ctx.egress.check(input.url).catch((error: unknown) => {
      throw error instanceof EgressRefused ? new ApiError("invalid_url", { message: error.message }) : error;
    });
    const signingSecret = generateSigningSecret();
    return ctx.database.transaction(async (tx) => {
      // A user's registrations are counted one at a time.
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
      return { ...webhook, signingSecret };
    });
  });
