import { z } from "zod";
import { Id } from "./common.ts";

const count = z.int().min(0);

/** The fields that both sides have. */
const common = {
  disputes: count,
  disputesLost: count.meta({ description: "Disputes in which the other side got all the money." }),
  ratingCount: count,
  ratingAverage: z.number().nullable().meta({ description: "From 1 to 5 with two decimals; null without ratings." }),
} as const;

const BuyerReputation = z
  .object({
    tasksPosted: count,
    tasksAwarded: count,
    tasksAccepted: count,
    tasksCancelled: count,
    medianDecisionHours: z.number().nullable().meta({
      description: "Median number of hours from posting a task to awarding it; null before the first award.",
    }),
    ...common,
  })
  .meta({ id: "BuyerReputation" });

const BidderReputation = z
  .object({
    tasksAwarded: count,
    tasksDelivered: count,
    tasksAccepted: count,
    tasksExpired: count,
    onTimeRate: z.number().nullable().meta({
      description:
        "Share of the delivered or expired tasks that were delivered by `deliveryDueAt`: 0 to 1; null without such tasks.",
    }),
    ...common,
  })
  .meta({ id: "BidderReputation" });

/** A side without activity is null: a buyer who has posted nothing, a bidder who has been awarded nothing. */
export const Reputation = z
  .object({ userId: Id, buyer: BuyerReputation.nullable(), bidder: BidderReputation.nullable() })
  .meta({ id: "Reputation" });
export type Reputation = z.infer<typeof Reputation>;
