import { z } from "zod";
import { emptyableText, idOf, MAX_INT32, Person, Price, Timestamp } from "./common.ts";
import { must } from "./messages.ts";

export const bidStatuses = ["active", "withdrawn", "rejected", "awarded"] as const;
export const BidStatus = z.enum(bidStatuses).meta({
  id: "BidStatus",
  description:
    "`active`: can be awarded. `withdrawn`: by the bidder. `rejected`: the task went to another bid, or was cancelled. " +
    "`awarded`: the bidder does the task.",
});
export type BidStatus = z.infer<typeof BidStatus>;

export const Bid = z
  .object({
    id: idOf("bid"),
    taskId: idOf("task", "The task that the bid is for."),
    bidder: Person.meta({
      description: "Who placed the bid.",
      example: { id: "019aa1b2-0000-7000-8000-000000000002", displayName: "Bo" },
    }),
    priceCents: Price.meta({ description: "What the buyer pays, in integer cents.", example: 8_500 }),
    etaHours: z.number().meta({ description: "Hours from the award to the delivery.", example: 24 }),
    notes: z.string().nullable().meta({
      description: "The bidder's words to the buyer.",
      example: "I grew up with both languages.",
    }),
    status: BidStatus,
    createdAt: Timestamp.meta({ description: "When the bid was placed." }),
    updatedAt: Timestamp.meta({ description: "When the bid last changed." }),
    taskEditedAt: Timestamp.nullable().meta({
      description:
        "When the task's title, description or acceptance criteria last changed, if that was after an active bid was placed.",
      example: null,
    }),
    feeCents: Price.optional().meta({
      description:
        "For the bidder only, and absent while the platform has never had a fee: what it takes of the price, frozen when the " +
        "price was set. Integer cents.",
      example: 425,
    }),
    netCents: Price.optional().meta({
      description: "For the bidder only, beside `feeCents`: the price less the fee. Integer cents.",
      example: 8_075,
    }),
  })
  .meta({ id: "Bid", description: "An offer to do a task." });
export type Bid = z.infer<typeof Bid>;

/** The fields of a bid that the bidder sets. Source: docs/contract.md "Records". */
export const bidInput = {
  priceCents: z
    .int()
    .min(1)
    .max(MAX_INT32)
    .meta({ description: "Integer cents, at most the task's maximum budget.", example: 8_500 }),
  // Not `multipleOf`: in binary fractions, 0.29 is no multiple of 0.01, so strict clients would refuse it.
  etaHours: z
    .number()
    .min(0.01)
    .max(8_760)
    .refine((hours) => Number(hours.toFixed(2)) === hours, { error: must("have at most two decimals") })
    .meta({
      description: "Estimated hours from the award to the delivery, with at most two decimals.",
      example: 24,
    }),
  notes: emptyableText(5_000).meta({
    description: "Words to the buyer. Null or empty for none.",
    example: "I grew up with both languages.",
  }),
} as const;
