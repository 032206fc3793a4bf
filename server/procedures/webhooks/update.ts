import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { idOf } from "../../schemas/common.ts";
import { Webhook, webhookInput } from "../../schemas/webhook.ts";
import { join, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { scoped } from "../../trpc.ts";
import { checkWebhookUrl } from "../../webhooks/checkUrl.ts";
import { stopDeliveries } from "../../webhooks/complete.ts";
import { releaseEndpoint } from "../../webhooks/held.ts";
import { addHost, receivingHost } from "../../webhooks/host.ts";
import { assertMayReceive, assertSubscribes, requireOwnEndpoint, webhookColumns } from "../../webhooks/records.ts";
import { switchOn } from "../../webhooks/replay.ts";

export const update = scoped("webhook:write")
  .meta({
    rest: { method: "PATCH", path: "/webhooks/{id}" },
    summary: "Change a webhook endpoint",
    description:
      "Changes one of your endpoints: only the fields that you send, and a list replaces the whole list. Its secret stays, and " +
      "is not shown. What waits to be sent goes to a new `url`. With `active: false` nothing more is sent, and what waits has " +
      "failed and can be replayed; `true` switches the endpoint on again.",
    errors: ["forbidden", "invalid_url", "not_found"],
  })
  .input(
    z
      .strictObject({
        id: idOf("webhook endpoint"),
        url: webhookInput.url.optional(),
        events: webhookInput.events.optional(),
        logEvents: webhookInput.logEvents.optional(),
        active: z.boolean().optional().meta({ description: "False: send nothing until it is true again." }),
      })
      .refine(({ id: _, ...changes }) => Object.values(changes).some((value) => value !== undefined), {
        message: "Name at least one field to change.",
      })
      .meta({ id: "UpdateWebhook" }),
  )
  .output(Webhook)
  .mutation(({ ctx, input }) => {
    const { id, url, events, logEvents, active } = input;
    const change = async (tx: Transaction) => {
      const [before] = await tx.query<Pick<Webhook, "events" | "logEvents">>(sql`
        SELECT events, log_events AS "logEvents" FROM webhook_endpoints
        WHERE id = ${id}::uuid AND user_id = ${ctx.userId}::uuid AND deleted_at IS NULL FOR NO KEY UPDATE`);
      if (!before) throw new ApiError("not_found");
      assertSubscribes({ events: events ?? before.events, logEvents: logEvents ?? before.logEvents });
      if (logEvents !== undefined) assertMayReceive(ctx.principal, logEvents);
      // Neither does a key take away the types and then the address.
      if (logEvents !== undefined || url !== undefined) assertMayReceive(ctx.principal, before.logEvents);
      if (url !== undefined) await moveTo(tx, id, url);
      if (active === true) await switchOn(tx, [id]);
      if (active === false) await stopDeliveries(tx, [id]);
      const changes = [
        events && sql`events = ${events}::text[]`,
        logEvents && sql`log_events = ${logEvents}::text[]`,
        active === false && sql`switched_off_at = coalesce(switched_off_at, service_now())`,
        sql`id = id`,
      ].filter((change) => typeof change === "object");
      return queryOne<Webhook>(
        tx,
        sql`UPDATE webhook_endpoints AS e SET ${join(changes)} WHERE id = ${id}::uuid RETURNING ${webhookColumns}`,
      );
    };
    if (url === undefined) return ctx.change(change);
    return ctx.claimToAsk(async (claim) => {
      await requireOwnEndpoint(ctx.database, id, ctx.userId);
      await checkWebhookUrl(ctx.egress, url);
      return claim.change(change);
    });
  });

/** Sends to another address from now on. What is held back for the old host waits for the new one, if it has not answered yet. */
async function moveTo(tx: Transaction, id: string, url: string): Promise<void> {
  const host = receivingHost(url);
  await releaseEndpoint(tx, id);
  await addHost(tx, host);
  await tx.query(sql`
    UPDATE webhook_endpoints SET url = ${url}, host = ${host}, failures_in_row = 0, failing_since = NULL
    WHERE id = ${id}::uuid`);
}
