import { z } from "zod";
import { Id } from "./common.ts";

const count = z.int().min(0);

const ratings = {
  disputes: count,
  disputesLost: count.meta({ description: "Disputes that gave all the money to the other side." }),
  ratingCount: count,
  ratingAverage: z.number().nullable().meta({ description: "1 to 5, two decimals; null without a rating." }),
} as const;

export const BuyerReputation = z
  .object({
    tasksPosted: count,
    tasksAwarded: count,
    tasksAccepted: count,
    tasksCancelled: count,
    medianDecisionHours: z.number().nullable().meta({
      description: "Median of the hours from posting a task to awarding it; null before the first award.",
    }),
    ...ratings,
  })
  .meta({ id: "BuyerReputation" });

export const BidderReputation = z
  .object({
    tasksAwarded: count,
    tasksDelivered: count,
    tasksAccepted: count,
    tasksExpired: count,
    onTimeRate: z.number().nullable().meta({
      description: "Of the tasks that were delivered or expired, the share delivered by `deliveryDueAt`: 0 to 1.",
    }),
    ...ratings,
  })
  .meta({ id: "BidderReputation" });

/** A side with no activity is null: a buyer who posted nothing, a bidder who was awarded nothing. */
export const Reputation = z
  .object({ userId: Id, buyer: BuyerReputation.nullable(), bidder: BidderReputation.nullable() })
  .meta({ id: "Reputation" });
export type Reputation = z.infer<typeof Reputation>;
