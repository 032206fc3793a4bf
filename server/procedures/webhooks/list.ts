import { z } from "zod";
import { NoInput } from "../../schemas/common.ts";
import { Webhook } from "../../schemas/webhook.ts";
import { sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";
import { webhookColumns } from "../../webhooks/records.ts";

/** Lists the caller's endpoints, newest first. */
export const list = scoped("webhook:read")
  .meta({ rest: { method: "GET", path: "/webhooks" }, summary: "List webhook endpoints" })
  .input(NoInput)
  .output(z.object({ webhooks: z.array(Webhook) }))
  .query(async ({ ctx }) => ({
    webhooks: await ctx.database.query<Webhook>(sql`
      SELECT ${webhookColumns} FROM webhook_endpoints e
      WHERE e.user_id = ${ctx.userId}::uuid AND e.deleted_at IS NULL ORDER BY e.created_at DESC, e.id`),
  }));
