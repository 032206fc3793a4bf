import { z } from "zod";
import { Timestamp, text } from "./common.ts";

/** The most rounds of changes that a task can have. Source: docs/contract.md "States". */
export const MAX_REVISIONS = 5;

const reason = z
  .string()
  .meta({ description: "What the buyer asks for.", example: "The second page lacks its footnotes." });
const requestedAt = Timestamp.meta({ description: "When the buyer asked." });
const dueAt = Timestamp.meta({ description: "When the changes are due. Then the earlier delivery stands again." });
const round = z.int32().meta({ description: "Counted from 1.", example: 1 });

/** The round of changes that a task is in. */
export const Changes = z
  .object({ reason, requestedAt, dueAt, round })
  .meta({ id: "Changes", description: "The changes that the buyer has asked for, while the bidder works on them." });

/** A round of changes, as the detail of a dispute has it. */
export const ChangeRound = z
  .object({
    ...{ round, reason, requestedAt, dueAt },
    declinedBy: z.enum(["bidder", "clock"]).nullable().meta({
      description: "`clock`: the bidder did nothing in time. Null: the bidder delivered again.",
      example: null,
    }),
    declinedReason: z.string().nullable().meta({ description: "Why the bidder declined.", example: null }),
    endedAt: Timestamp.nullable().meta({ description: "When the round ended." }),
  })
  .meta({ id: "ChangeRound", description: "A round of changes, and how it ended." });
export type ChangeRound = z.infer<typeof ChangeRound>;

export const changesInput = {
  reason: text(10, 2_000).meta({
    description: "What must change, measured by what was agreed. The bidder sees it, and moderators in a dispute.",
    example: "The second page lacks its footnotes.",
  }),
  hours: z.int().min(24).max(720).default(72).meta({ description: "How long the bidder has, in hours.", example: 72 }),
} as const;

export const declineReason = text(10, 2_000).meta({
  description: "Why the delivery is as agreed. The buyer sees it, and moderators in a dispute.",
  example: "The footnotes were not part of the task.",
});
