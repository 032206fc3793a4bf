import { z } from "zod";
import { Id, listOf, NextCursor, nextCursorOf, PageQuery } from "../../schemas/common.ts";
import { eventTypes } from "../../schemas/event.ts";
import { deliveryStatuses, WebhookDelivery } from "../../schemas/webhook.ts";
import { empty, sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { deliveryColumns, requireOwnEndpoint } from "../../webhooks/records.ts";

/** What was sent to an endpoint in the last 30 days, newest first, with every attempt. */
export const deliveries = scoped("webhook:read")
  .meta({
    rest: { method: "GET", path: "/webhooks/{id}/deliveries" },
    summary: "List an endpoint's deliveries",
    errors: ["not_found"],
  })
  .input(
    PageQuery.extend({
      id: Id,
      event: listOf(eventTypes).optional(),
      status: listOf(deliveryStatuses).optional(),
    }),
  )
  .output(z.object({ deliveries: z.array(WebhookDelivery), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    await requireOwnEndpoint(ctx.database, input.id, ctx.userId);
    const page = await ctx.database.query<WebhookDelivery>(sql`
      SELECT ${deliveryColumns} FROM webhook_deliveries d
      WHERE d.endpoint_id = ${input.id}::uuid
        ${input.event === undefined ? empty : sql`AND d.event_type = ANY (${input.event.split(",")}::text[])`}
        ${input.status === undefined ? empty : sql`AND d.status = ANY (${input.status.split(",")}::text[])`}
        ${input.cursor === undefined ? empty : sql`AND d.created_at < ${input.cursor}::timestamptz`}
      ORDER BY d.created_at DESC LIMIT ${input.limit}`);
    return { deliveries: page, nextCursor: nextCursorOf(page, input.limit) };
  });
