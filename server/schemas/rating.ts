import { z } from "zod";
import { emptyableText, idOf, Timestamp } from "./common.ts";

export const Rating = z
  .object({
    id: idOf("rating"),
    taskId: idOf("task", "The task that the rating is about."),
    raterId: idOf("user", "The user who rates."),
    rateeId: idOf("bidder", "The user who is rated."),
    role: z.enum(["buyer", "bidder"]).meta({ description: "The side that is rated.", example: "bidder" }),
    stars: z.int32().meta({ description: "1 to 5; 5 is the best.", example: 5 }),
    comment: z.string().nullable().meta({ description: "The rater's words.", example: "Fast and exact." }),
    createdAt: Timestamp.meta({ description: "When the rating was given." }),
  })
  .meta({ id: "Rating", description: "What one side of a finished task thinks of the other." });
export type Rating = z.infer<typeof Rating>;

/** The fields of a rating that the rater sets. Source: docs/contract.md "Limits". */
export const ratingInput = {
  stars: z.int().min(1).max(5).meta({ description: "5 is the best.", example: 5 }),
  comment: emptyableText(500).meta({ description: "A few words. Null or empty for none.", example: "Fast and exact." }),
} as const;
