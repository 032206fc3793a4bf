import { z } from "zod";
import { InputTimestamp, idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";
import { startEndpointReplay } from "../../webhooks/cooldown.ts";
import { requireOwnEndpoint } from "../../webhooks/records.ts";
import { replayFailed } from "../../webhooks/replay.ts";

export const replaySince = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks/{id}/replay", status: 202 },
    summary: "Replay an endpoint's failed deliveries",
    description:
      "Sends the deliveries of an endpoint again that have failed for good since a given time, with the same event " +
      "ids, and switches the endpoint on if it was off. Once a minute per endpoint.",
    errors: ["not_found"],
  })
  .input(
    z
      .strictObject({
        id: idOf("webhook endpoint"),
        since: InputTimestamp.meta({
          description: "Replays deliveries that failed for good at or after this time, however old their event is.",
        }),
      })
      .meta({ id: "ReplayWebhookDeliveries" }),
  )
  .output(
    z.object({ replayed: z.int().meta({ description: "The number of deliveries that are sent again.", example: 3 }) }),
  )
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      await requireOwnEndpoint(tx, input.id, ctx.userId);
      const now = ctx.clock.now();
      await startEndpointReplay(tx, input.id, now);
      const replayed = await replayFailed(tx, { since: input.since, endpointId: input.id, now });
      return { replayed };
    }),
  );
