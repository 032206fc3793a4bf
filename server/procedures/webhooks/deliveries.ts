import { z } from "zod";
import { idOf, listOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { logEventTypes } from "../../schemas/event.ts";
import { deliveryStatuses, WebhookDelivery } from "../../schemas/webhook.ts";
import { join, sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { scoped } from "../../trpc.ts";
import { deliveryColumns, requireOwnEndpoint } from "../../webhooks/records.ts";

export const deliveries = scoped("webhook:read")
  .meta({
    rest: { method: "GET", path: "/webhooks/{id}/deliveries" },
    summary: "List an endpoint's deliveries",
    description:
      "Lists the deliveries to one of your endpoints, newest first, each with its latest 20 attempts. They are kept " +
      "for 30 days, failed ones for 90 days after their last attempt unless the endpoint is deleted.",
    errors: ["not_found"],
  })
  .input(
    PageQuery.extend({
      id: idOf("webhook endpoint"),
      event: listOf(logEventTypes, "Deliveries of these events; all by default.").optional(),
      status: listOf(deliveryStatuses, "Deliveries with one of these statuses; all by default.").optional(),
    }).meta({ id: "ListWebhookDeliveries" }),
  )
  .output(
    z.object({ deliveries: z.array(WebhookDelivery).meta({ description: "Newest first." }), nextCursor: NextCursor }),
  )
  .query(async ({ ctx, input }) => {
    await requireOwnEndpoint(ctx.database, input.id, ctx.userId);
    const filters = [
      input.event === undefined ? undefined : sql`d.event_type = ANY (${input.event}::text[])`,
      input.status === undefined ? undefined : hasStatus(input.status),
    ].filter((filter) => filter !== undefined);
    const { rows, nextCursor } = await readPage<WebhookDelivery>(ctx.database, "webhooks.deliveries", {
      ...input,
      select: sql`SELECT ${deliveryColumns} FROM webhook_deliveries d`,
      where: sql`d.endpoint_id = ${input.id}::uuid`,
      filter: filters.length === 0 ? undefined : join(filters, " AND "),
    });
    return { deliveries: rows, nextCursor };
  });

/** Failed deliveries are what people look for, and few: they have an index, which must be asked in its own words. */
const hasStatus = (statuses: string[]) =>
  statuses.every((status) => status === "failed")
    ? sql`d.failed_at IS NOT NULL`
    : sql`d.status = ANY (${statuses}::text[])`;
