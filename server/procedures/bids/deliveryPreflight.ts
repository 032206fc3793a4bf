import { z } from "zod";
import { preflight } from "../../market/checks/preflight.ts";
import { StorageKey } from "../../schemas/artifact.ts";
import { CheckResult } from "../../schemas/checkResult.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const deliveryPreflight = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/delivery/preflight" },
    summary: "Try the checks before delivering",
    description:
      "Judges an uploaded file that is not delivered yet by the built-in checks of the task, exactly as the delivery would be, " +
      "and changes nothing. Checks that the buyer's program does stay `pending`. 30 a minute.",
    rateGroup: "preflight",
    errors: ["forbidden", "not_found", "wrong_status"],
    ignoresIdempotencyKey: true,
  })
  .input(z.strictObject({ id: idOf("bid"), storageKey: StorageKey }).meta({ id: "PreflightDelivery" }))
  .output(
    z.object({
      checks: z.array(CheckResult).meta({ description: "What the checks would come to, in their order." }),
    }),
  )
  .mutation(async ({ ctx, input }) => ({ checks: await preflight(ctx, input.id, input.storageKey) }));
