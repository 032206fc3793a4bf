import { z } from "zod";
import { emptyableText, Id, MAX_INT32, Person, Timestamp } from "./common.ts";
import { must } from "./messages.ts";

export const bidStatuses = ["active", "withdrawn", "rejected", "awarded"] as const;
export const BidStatus = z.enum(bidStatuses);
export type BidStatus = z.infer<typeof BidStatus>;

export const Bid = z
  .object({
    id: Id,
    taskId: Id,
    bidder: Person,
    priceCents: z.int(),
    etaHours: z.number(),
    notes: z.string().nullable(),
    status: BidStatus,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    taskEditedAt: Timestamp.nullable().meta({
      description:
        "When the task's title, description or acceptance criteria last changed, if that was after an active bid was placed.",
    }),
  })
  .meta({ id: "Bid" });
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
  notes: emptyableText(5_000).meta({ example: "I grew up with both languages." }),
} as const;
