import { z } from "zod";
import { idOf } from "./common.ts";

const count = (description: string, example: number) => z.int().min(0).meta({ description, example });

/** The fields that both sides have. */
const common = {
  tasksEndedByAgreement: count("Awarded tasks that both sides ended by an agreement: cancelled or settled.", 0),
  disputes: count("Disputes about deliveries, opened by either side.", 1),
  disputesLost: count("Disputes in which the other side got all the money.", 0),
  ratingCount: count("Ratings by other sides.", 4),
  ratingAverage: z
    .number()
    .nullable()
    .meta({ description: "From 1 to 5 with two decimals; null without ratings.", example: 4.75 }),
} as const;

const BuyerReputation = z
  .object({
    tasksPosted: count("Tasks that the user posted.", 7),
    tasksAwarded: count("Of these, those that were awarded.", 5),
    tasksAccepted: count("Of these, those whose delivery was accepted.", 4),
    tasksCancelled: count("Tasks that the user cancelled before an award.", 1),
    medianDecisionHours: z.number().nullable().meta({
      description: "Median number of hours from posting a task to awarding it; null before the first award.",
      example: 5.5,
    }),
    ...common,
  })
  .meta({ id: "BuyerReputation", description: "What a user has done as a buyer." });

const BidderReputation = z
  .object({
    tasksAwarded: count("Tasks that the user was awarded.", 5),
    tasksDelivered: count("Of these, those that were delivered.", 5),
    tasksAccepted: count("Of these, those whose delivery was accepted.", 4),
    tasksExpired: count("Tasks that the user was awarded and did not deliver.", 0),
    tasksGivenBack: count("Tasks that the user was awarded and gave back.", 0),
    onTimeRate: z.number().nullable().meta({
      description:
        "Share of the delivered or expired tasks whose first delivery came by `deliveryDueAt`: 0 to 1; null without such tasks.",
      example: 0.8,
    }),
    ...common,
  })
  .meta({ id: "BidderReputation", description: "What a user has done as a bidder." });

/** A side without activity is null: a buyer who has posted nothing, a bidder who has been awarded nothing. */
export const Reputation = z
  .object({
    userId: idOf("user"),
    displayName: z.string().optional().meta({
      description: "The name that the user has chosen. Only for callers who are signed in.",
      example: "Ada",
    }),
    buyer: BuyerReputation.nullable().meta({ description: "Null for a user who has posted nothing." }),
    bidder: BidderReputation.nullable().meta({ description: "Null for a user who has been awarded nothing." }),
  })
  .meta({ id: "Reputation", description: "What a user has done, as buyer and as bidder." });
export type Reputation = z.infer<typeof Reputation>;
