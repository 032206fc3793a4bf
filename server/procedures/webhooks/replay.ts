import { z } from "zod";
import { idOf } from "../../schemas/common.ts";
import { WebhookDelivery } from "../../schemas/webhook.ts";
import { scoped } from "../../trpc.ts";
import { startDeliveryReplay } from "../../webhooks/cooldown.ts";
import { findOwnDelivery } from "../../webhooks/records.ts";
import { replayDelivery } from "../../webhooks/replay.ts";

export const replay = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks/deliveries/{id}/replay", status: 202 },
    summary: "Replay a delivery",
    description:
      "Sends a delivery again, whatever its status, with the same event id, and switches its endpoint on if it was " +
      "off. At most once in 10 seconds per delivery.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("webhook delivery") }).meta({ id: "ReplayWebhookDelivery" }))
  .output(z.object({ delivery: WebhookDelivery.meta({ description: "The delivery, pending again." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      await findOwnDelivery(tx, input.id, ctx.userId);
      const now = ctx.clock.now();
      await replayDelivery(tx, input.id, now);
      await startDeliveryReplay(tx, input.id, now);
      return { delivery: await findOwnDelivery(tx, input.id, ctx.userId) };
    }),
  );
