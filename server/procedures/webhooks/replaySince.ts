import { z } from "zod";
import { Id, InputTimestamp } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";
import { startEndpointReplay } from "../../webhooks/cooldown.ts";
import { requireOwnEndpoint } from "../../webhooks/records.ts";
import { replayFailed } from "../../webhooks/replay.ts";

/**
 * Repeats the deliveries of an endpoint that have failed since a given time. Switches the endpoint on if it was off.
 */
export const replaySince = scoped("webhook:write")
  .meta({
    rest: { method: "POST", path: "/webhooks/{id}/replay", status: 202 },
    summary: "Replay an endpoint's failed deliveries",
    description: "Once a minute per endpoint.",
    errors: ["not_found"],
  })
  .input(
    z.strictObject({
      id: Id,
      since: InputTimestamp.meta({
        description: "Replays deliveries that failed for good at or after this time, however old their event is.",
      }),
    }),
  )
  .output(z.object({ replayed: z.int().meta({ description: "The number of deliveries that are sent again." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      await requireOwnEndpoint(tx, input.id, ctx.userId);
      const now = ctx.clock.now();
      await startEndpointReplay(tx, input.id, now);
      const replayed = await replayFailed(tx, { since: input.since, endpointId: input.id, now });
      return { replayed };
    }),
  );
