import { z } from "zod";
import { type Artifact, Delivery, Sample } from "./artifact.ts";
import { Bid } from "./bid.ts";
import { emptyableText, Id, MAX_INT32, Timestamp, text } from "./common.ts";
import { Reputation } from "./reputation.ts";
import { Task } from "./task.ts";

export const disputeStatuses = ["open", "resolved"] as const;
export const resolutions = ["refund", "release", "split"] as const;
const sides = ["buyer", "bidder"] as const;

export const Dispute = z
  .object({
    id: Id,
    taskId: Id,
    openedBy: z.enum(sides),
    reason: z.string(),
    status: z.enum(disputeStatuses),
    resolution: z.enum(resolutions).nullable(),
    buyerCents: z
      .int()
      .nullable()
      .meta({ description: "Integer cents that went back to the buyer; null while the dispute is open." }),
    bidderCents: z
      .int()
      .nullable()
      .meta({ description: "Integer cents that the bidder was paid; null while the dispute is open." }),
    note: z.string().nullable().meta({ description: "The moderator's comment." }),
    createdAt: Timestamp,
    resolvedAt: Timestamp.nullable(),
  })
  .meta({ id: "Dispute" });
export type Dispute = z.infer<typeof Dispute>;

/** Beside a dispute, what a decision needs: the agreement, the uploads, and both sides' reputations. */
export const disputeCase = {
  task: Task,
  bid: Bid,
  samples: z.array(Sample),
  deliveries: z.array(Delivery),
  reputations: z.object({ buyer: Reputation, bidder: Reputation }),
} as const;

/** Before output validation, which drops the fields of an artifact that a delivery does not have. */
export type DisputeCase = Omit<z.infer<z.ZodObject<typeof disputeCase>>, "deliveries"> & {
  dispute: Dispute;
  deliveries: Artifact[];
};

/** A moderator's decision. The bid's price, the upper bound of the bidder's share, is checked elsewhere. */
export const resolveInput = {
  resolution: z.enum(resolutions).meta({
    description:
      "`refund` returns everything to the buyer, `release` pays everything to the bidder, `split` divides it.",
  }),
  bidderCents: z
    .int()
    .min(1)
    .max(MAX_INT32)
    .optional()
    .meta({ description: "Only with `split`: the bidder's share in integer cents, from 1 to the price minus 1." }),
  note: emptyableText(2_000).optional(),
} as const;

export const disputeReason = text(10, 2_000);
