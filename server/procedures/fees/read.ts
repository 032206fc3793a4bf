import { z } from "zod";
import { readSchedules } from "../../market/fees/schedules.ts";
import { NoInput } from "../../schemas/common.ts";
import { FeeSchedule } from "../../schemas/fee.ts";
import { anyone } from "../../trpc.ts";

export const read = anyone
  .meta({
    rest: { method: "GET", path: "/fees" },
    summary: "Read the platform's fee",
    description:
      "Returns what the platform takes of a task's price, now and by every schedule that there has been or will be. The " +
      "bidder pays it, when the task is paid. It is frozen when a bid's price is set: a later schedule touches no bid.",
    rateGroup: "publicRead",
  })
  .input(NoInput)
  .output(
    z
      .object({
        current: FeeSchedule.nullable().meta({ description: "Null while there is no fee." }),
        schedules: z.array(FeeSchedule).meta({ description: "The one that starts last first; future ones too." }),
      })
      .meta({ id: "Fees", description: "The platform's fee." }),
  )
  .query(({ ctx }) => readSchedules(ctx.database));
