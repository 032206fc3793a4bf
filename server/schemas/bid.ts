import { z } from "zod";
import { Id, MAX_INT32, Person, Timestamp, text } from "./common.ts";

export const bidStatuses = ["active", "withdrawn", "rejected", "awarded"] as const;
export const BidStatus = z.enum(bidStatuses);
export type BidStatus = z.infer<typeof BidStatus>;

export const Bid = z
  .object({
    id: Id,
    taskId: Id,
    bidder: Person,
    priceCents: z.int(),
    etaHours: z.int(),
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

/** The fields of a bid that the bidder sets. Empty notes become null. Source: docs/contract.md "Records". */
export const bidInput = {
  priceCents: z
    .int()
    .min(1)
    .max(MAX_INT32)
    .meta({ description: "Integer cents, at most the task's maximum budget.", example: 8_500 }),
  etaHours: z
    .int()
    .min(1)
    .max(8_760)
    .meta({ description: "Estimated hours from the award to the delivery.", example: 24 }),
  notes: text(0, 5_000)
    .meta({ example: "I grew up with both languages." })
    .nullable()
    .transform((notes) => notes || null),
} as const;
