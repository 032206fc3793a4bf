import { z } from "zod";
import { NoInput } from "../../schemas/common.ts";
import { Webhook } from "../../schemas/webhook.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { webhookColumns } from "../../webhooks/records.ts";

export const list = scoped("webhook:read")
  .meta({
    rest: { method: "GET", path: "/webhooks" },
    summary: "List my webhook endpoints",
    description:
      "Lists your webhook endpoints, newest first, without their secrets. `active` is false while one is switched " +
      "off.",
  })
  .input(NoInput)
  .output(z.object({ webhooks: z.array(Webhook).meta({ description: "Newest first." }) }))
  .query(async ({ ctx }) => ({
    webhooks: await ctx.database.query<Webhook>(sql`
      SELECT ${webhookColumns} FROM webhook_endpoints e
      WHERE e.user_id = ${ctx.userId}::uuid AND e.deleted_at IS NULL ORDER BY e.created_at DESC, e.id`),
  }));
