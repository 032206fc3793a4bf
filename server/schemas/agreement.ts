import { z } from "zod";
import { InputTimestamp, idOf, MAX_INT32, Price, Timestamp, text } from "./common.ts";

export const agreementKinds = ["extend", "cancel", "settle"] as const;
export const AgreementKind = z.enum(agreementKinds).meta({
  id: "AgreementKind",
  description:
    "`extend`: the delivery is due later. `cancel`: the task ends, and the hold returns to the buyer. `settle`: the task ends, " +
    "the bidder is paid `bidderCents` of the price, and the rest returns to the buyer.",
});
export type AgreementKind = z.infer<typeof AgreementKind>;

export const AgreementStatus = z.enum(["pending", "accepted", "declined", "withdrawn", "lapsed"]).meta({
  id: "AgreementStatus",
  description:
    "`pending` until the other side answers. `withdrawn`: by the side that proposed it. `lapsed`: nobody answered within 7 days, " +
    "the task moved meanwhile, or a moderator decided.",
});
export type AgreementStatus = z.infer<typeof AgreementStatus>;

export const Agreement = z
  .object({
    id: idOf("agreement"),
    taskId: idOf("task"),
    kind: AgreementKind.meta({ example: "cancel" }),
    proposedBy: z.enum(["buyer", "bidder"]).meta({ description: "The side that proposes it.", example: "bidder" }),
    reason: z.string().meta({ description: "What that side says.", example: "I was ill for a week." }),
    deliveryDueAt: Timestamp.nullable().meta({ description: "Of `extend`: the new due time.", example: null }),
    bidderCents: Price.nullable().meta({
      description: "Of `settle`: what the bidder is paid, in integer cents.",
      example: null,
    }),
    status: AgreementStatus.meta({ example: "pending" }),
    createdAt: Timestamp.meta({ description: "When it was proposed." }),
    expiresAt: Timestamp.meta({ description: "When it lapses without an answer. Silence never agrees." }),
    endedAt: Timestamp.nullable().meta({ description: "When it was answered, withdrawn or lapsed.", example: null }),
  })
  .meta({
    id: "Agreement",
    description: "What one side of an awarded task proposes, until the other side agrees or not.",
  });
export type Agreement = z.infer<typeof Agreement>;

/** The fields that a proposal of a kind needs; those of other kinds are refused. */
const fieldOf: Partial<Record<AgreementKind, "deliveryDueAt" | "bidderCents">> = {
  extend: "deliveryDueAt",
  settle: "bidderCents",
};

/** What `agreements.propose` takes. What depends on the task is checked there. */
export const ProposeAgreement = z
  .strictObject({
    id: idOf("task"),
    kind: AgreementKind.meta({ example: "settle" }),
    reason: text(10, 2_000).meta({
      description: "Why. The other side sees it, and a moderator if there is a dispute.",
      example: "I was ill for a week.",
    }),
    deliveryDueAt: InputTimestamp.optional().meta({
      description: "Only with `extend`: later than now and than the present due time, at most a year ahead.",
    }),
    bidderCents: z.int().min(0).max(MAX_INT32).optional().meta({
      description: "Only with `settle`: 0 to the price, in integer cents.",
      example: 4_000,
    }),
  })
  .superRefine(({ kind, ...input }, context) => {
    for (const field of ["deliveryDueAt", "bidderCents"] as const) {
      const isNeeded = fieldOf[kind] === field;
      if (isNeeded === (input[field] !== undefined)) continue;
      const message = isNeeded ? `\`${kind}\` needs \`${field}\`.` : `\`${kind}\` takes no \`${field}\`.`;
      context.addIssue({ code: "custom", path: [field], message });
    }
  })
  .meta({ id: "ProposeAgreement" });

export const giveBackReason = text(10, 2_000).meta({
  description: "Why you give the task back. The buyer sees it.",
  example: "I cannot do this in time after all.",
});
