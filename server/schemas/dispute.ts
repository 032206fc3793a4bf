import { z } from "zod";
import { type Artifact, Delivery, Sample } from "./artifact.ts";
import { Bid } from "./bid.ts";
import { Id, MAX_INT32, Timestamp, text } from "./common.ts";
import { Reputation } from "./reputation.ts";
import { Task } from "./task.ts";

export const disputeStatuses = ["open", "resolved"] as const;
export const resolutions = ["refund", "release", "split"] as const;
export const sides = ["buyer", "bidder"] as const;

export const Dispute = z
  .object({
    id: Id,
    taskId: Id,
    openedBy: z.enum(sides),
    reason: z.string(),
    status: z.enum(disputeStatuses),
    resolution: z.enum(resolutions).nullable(),
    buyerCents: z.int().nullable().meta({ description: "What returned to the buyer; null while the dispute is open." }),
    bidderCents: z.int().nullable().meta({ description: "What the bidder was paid; null while the dispute is open." }),
    note: z.string().nullable().meta({ description: "What the moderator had to say." }),
    createdAt: Timestamp,
    resolvedAt: Timestamp.nullable(),
  })
  .meta({ id: "Dispute" });
export type Dispute = z.infer<typeof Dispute>;

/** What a moderator needs to decide: what was agreed, what was delivered, and who the two are. */
export const disputeCase = {
  task: Task,
  bid: Bid,
  samples: z.array(Sample),
  deliveries: z.array(Delivery),
  reputations: z.object({ buyer: Reputation, bidder: Reputation }),
} as const;

export const DisputeCase = Dispute.extend(disputeCase).meta({ id: "DisputeCase" });
/** Deliveries as they are stored; the schema cuts them to what deliveries show. */
export type DisputeCase = Omit<z.infer<typeof DisputeCase>, "deliveries"> & { deliveries: Artifact[] };

/** What a moderator decides. The bidder's share has the price for its upper bound, which only the task knows. */
export const resolveInput = {
  resolution: z.enum(resolutions).meta({
    description: "`refund` returns all to the buyer, `release` pays all to the bidder, `split` divides it.",
  }),
  bidderCents: z
    .int()
    .min(1)
    .max(MAX_INT32)
    .optional()
    .meta({ description: "With `split`, and only then: what the bidder gets, from 1 to the price − 1." }),
  note: text(0, 2_000).optional(),
} as const;

export const disputeReason = text(10, 2_000);
