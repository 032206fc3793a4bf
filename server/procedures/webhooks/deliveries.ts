import { z } from "zod";
import { Id, listOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { eventTypes } from "../../schemas/event.ts";
import { deliveryStatuses, WebhookDelivery } from "../../schemas/webhook.ts";
import { empty, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { scoped } from "../../trpc.ts";
import { deliveryColumns, requireOwnEndpoint } from "../../webhooks/records.ts";

/** The deliveries to an endpoint that are kept, newest first, each with its latest 20 attempts. */
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
    const { rows, nextCursor } = await readPage<WebhookDelivery>(ctx.database, "webhooks.deliveries", {
      ...input,
      select: sql`SELECT ${deliveryColumns} FROM webhook_deliveries d`,
      where: sql`d.endpoint_id = ${input.id}::uuid
        ${input.event === undefined ? empty : sql`AND d.event_type = ANY (${input.event.split(",")}::text[])`}
        ${input.status === undefined ? empty : sql`AND d.status = ANY (${input.status.split(",")}::text[])`}`,
    });
    return { deliveries: rows, nextCursor };
  });
