import { z } from "zod";
import { Delivery, Sample, type SampleOrDelivery } from "./artifact.ts";
import { Bid } from "./bid.ts";
import { emptyableText, exampleIds, Id, idOf, MAX_INT32, Person, Price, Timestamp, text } from "./common.ts";
import { BriefFile, MessageFile } from "./file.ts";
import { Reputation } from "./reputation.ts";
import { ChangeRound } from "./round.ts";
import { Task } from "./task.ts";

export const disputeStatuses = ["open", "resolved"] as const;
export const resolutions = ["refund", "release", "split"] as const;
const sides = ["buyer", "bidder"] as const;

const DisputeStatus = z.enum(disputeStatuses).meta({
  id: "DisputeStatus",
  description: "`open` until a moderator has decided or both sides agree, then `resolved`.",
});

export const Dispute = z
  .object({
    id: idOf("dispute"),
    taskId: idOf("task", "The task whose delivery is disputed."),
    openedBy: z.enum(sides).meta({ description: "The side that opened the dispute.", example: "buyer" }),
    reason: z.string().meta({ description: "What that side says.", example: "The second page is missing." }),
    status: DisputeStatus,
    resolution: z
      .enum([...resolutions, "settled"])
      .nullable()
      .meta({
        description: "Who got the money: `settled` by an agreement of both sides; null while the dispute is open.",
        example: null,
      }),
    buyerCents: Price.nullable().meta({
      description: "Integer cents that went back to the buyer; null while the dispute is open.",
      example: null,
    }),
    bidderCents: Price.nullable().meta({
      description: "Integer cents that the bidder was paid; null while the dispute is open.",
      example: null,
    }),
    note: z.string().nullable().meta({ description: "The moderator's comment.", example: null }),
    createdAt: Timestamp.meta({ description: "When the dispute was opened." }),
    resolvedAt: Timestamp.nullable().meta({
      description: "When a moderator decided, or both sides agreed.",
      example: null,
    }),
  })
  .meta({ id: "Dispute", description: "A delivery that one side does not accept as it is." });
export type Dispute = z.infer<typeof Dispute>;

/** The brief of a task, which the award has frozen. Source: docs/contract.md "Records". */
export const Brief = z
  .object({
    title: Task.shape.title,
    description: Task.shape.description,
    acceptanceCriteria: Task.shape.acceptanceCriteria,
    sha256: z.string().meta({
      description:
        "SHA-256, in hex, of the three texts as canonical JSON (RFC 8785): an object with `acceptanceCriteria`, `description` and `title`.",
      example: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    }),
    files: z.array(BriefFile).meta({ description: "Oldest first, each with its own SHA-256." }),
  })
  .meta({ id: "Brief", description: "What was asked for, as it was at the award." });
export type Brief = z.infer<typeof Brief>;

/** Something that was said about a disputed task. */
export const Statement = z
  .object({
    kind: z.enum(["question", "answer", "message"]).meta({ description: "Where it was said.", example: "message" }),
    id: Id.meta({
      description: "The id of the question, also of an answer, or of the message.",
      example: exampleIds.message,
    }),
    by: Person.meta({ description: "Who said it." }),
    role: z.enum(["buyer", "bidder", "moderator", "visitor"]).meta({
      description: "`bidder` is the one who was awarded the task, `visitor` somebody else who asked about it.",
      example: "bidder",
    }),
    text: z.string().nullable().meta({
      description:
        "What was said; null for a question that a moderator has removed, and for a message that has only files.",
      example: "Here is page one.",
    }),
    files: z.array(MessageFile).meta({ description: "A message's files." }),
    createdAt: Timestamp.meta({ description: "When it was said; of an answer, when the question was first answered." }),
  })
  .meta({ id: "Statement", description: "Something that was said about a disputed task." });
export type Statement = z.infer<typeof Statement>;

/** Beside a dispute, what a decision needs: the agreement, the uploads, and both sides' reputations. */
export const disputeCase = {
  task: Task.meta({ description: "What was agreed." }),
  brief: Brief.meta({ description: "What was asked for, as it was at the award." }),
  bid: Bid.meta({ description: "The awarded bid, with the price in dispute." }),
  samples: z.array(Sample).meta({ description: "Newest last." }),
  deliveries: z.array(Delivery).meta({ description: "What was delivered, newest first." }),
  rounds: z
    .array(ChangeRound)
    .meta({ description: "What changes the buyer asked for, and the answers, oldest first." }),
  said: z.array(Statement).meta({
    description:
      "What was said, in order of time: the newest 100 questions about the task, with their answers, and the newest 100 messages of " +
      "both sides. A moderator sees the messages while the dispute is open.",
  }),
  reputations: z
    .object({
      buyer: Reputation.meta({ description: "Of the buyer." }),
      bidder: Reputation.meta({ description: "Of the bidder." }),
    })
    .meta({ id: "DisputeReputations", description: "The reputations of both sides." }),
} as const;

/** Before output validation. */
export type DisputeCase = Omit<z.infer<z.ZodObject<typeof disputeCase>>, "deliveries"> & {
  dispute: Dispute;
  deliveries: SampleOrDelivery[];
};

/** A moderator's decision. The bid's price, the upper bound of the bidder's share, is checked elsewhere. */
export const resolveInput = {
  resolution: z.enum(resolutions).meta({
    description:
      "`refund` returns everything to the buyer, `release` pays everything to the bidder, `split` divides it.",
    example: "split",
  }),
  bidderCents: z.int().min(1).max(MAX_INT32).optional().meta({
    description: "Only with `split`: the bidder's share in integer cents, less than the price.",
    example: 4_000,
  }),
  note: emptyableText(2_000)
    .meta({ description: "A comment that both sides see. Null or empty for none.", example: "Half of it was there." })
    .optional(),
} as const;

export const disputeReason = text(10, 2_000).meta({
  description: "What is wrong. The other side and moderators see it.",
  example: "The second page is missing.",
});
