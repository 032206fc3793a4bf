import { z } from "zod";
import { Timestamp } from "./common.ts";

const count = z.int().min(0);

/** The result of an audit of the ledger. */
const Audit = z
  .object({
    finishedAt: Timestamp,
    checks: z.array(z.object({ name: z.string(), count: count.meta({ description: "Number of discrepancies." }) })),
    notCompared: z.string().nullable().meta({
      description: "Why the ledger could not be compared with the payment processor; null if it was.",
    }),
    discrepancies: z
      .array(z.object({ check: z.string(), subject: z.string(), expected: z.string(), actual: z.string() }))
      .meta({ description: "At most 20 of each check. Amounts are in cents." }),
    count: count.meta({ description: "Number of all discrepancies, listed or not." }),
  })
  .meta({ id: "Audit" });

/** How the service itself is doing, for moderators. */
export const Operations = z.object({
  audit: Audit.nullable().meta({ description: "The last audit of the ledger; null before the first." }),
  unfinishedPayouts: z
    .array(
      z.object({
        state: z.string(),
        count,
        oldestSeconds: z.number().meta({ description: "Age of the oldest one; 0 when there is none." }),
      }),
    )
    .meta({ description: "The payouts that are neither paid nor failed, by their internal state, in order." }),
  waiting: z
    .object({
      jobs: count.meta({ description: "Jobs that are due and that no worker has taken yet." }),
      failedJobs: count.meta({ description: "Jobs that have failed as often as they may." }),
      processorEvents: count.meta({ description: "Events of the payment processor that are not applied yet." }),
      payouts: count.meta({ description: "Payouts whose next step is due." }),
    })
    .meta({ description: "Normally close to 0." }),
  deliveries: z
    .object({
      pending: count.meta({ description: "Webhook deliveries that are not sent yet, counted up to 10,000." }),
      oldestDueAt: Timestamp.nullable().meta({ description: "When the oldest due one became due; null if none is." }),
    })
    .meta({ description: "Deliveries to webhooks." }),
});
