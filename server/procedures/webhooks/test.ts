import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import type { EventType } from "../../schemas/event.ts";
import { WebhookDelivery } from "../../schemas/webhook.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { checkWebhookUrl } from "../../webhooks/checkUrl.ts";
import { startTest } from "../../webhooks/cooldown.ts";
import { addSampleDelivery } from "../../webhooks/records.ts";
import { switchOn } from "../../webhooks/replay.ts";
import { sampleEvent } from "../../webhooks/sample.ts";

export const test = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks/{id}/test", status: 202 },
    summary: "Send a sample event",
    description:
      "Sends a sample of the first of `events` (`task.created` if there is none) through the real delivery path, signed like any event but " +
      "without retries, and switches the endpoint on. Ten times a minute per endpoint.",
    errors: ["invalid_url", "not_found"],
    hasNoDryRun: true,
  })
  .input(z.strictObject({ id: idOf("webhook endpoint") }))
  .output(z.object({ delivery: WebhookDelivery.meta({ description: "The delivery of the sample." }) }))
  .mutation(({ ctx, input }) =>
    ctx.claim(async ({ change }) => {
      const [endpoint] = await ctx.database.query<{ url: string; type: EventType }>(sql`
      SELECT url, coalesce(events[1], 'task.created') AS type FROM webhook_endpoints
      WHERE id = ${input.id}::uuid AND user_id = ${ctx.userId}::uuid AND deleted_at IS NULL`);
      if (!endpoint) throw new ApiError("not_found");
      await checkWebhookUrl(ctx.egress, endpoint.url);
      const now = ctx.clock.now();
      return change(async (tx) => {
        await startTest(tx, input.id, now);
        await switchOn(tx, [input.id]);
        const eventId = await tx.events.recordSample(endpoint.type, sampleEvent(endpoint.type, now));
        return { delivery: await addSampleDelivery(tx, { endpointId: input.id, eventId, type: endpoint.type, now }) };
      });
    }),
  );
