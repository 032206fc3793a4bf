import { z } from "zod";
import { emptyableText, Id, Timestamp } from "./common.ts";

export const Rating = z
  .object({
    id: Id,
    taskId: Id,
    raterId: Id,
    rateeId: Id,
    role: z.enum(["buyer", "bidder"]).meta({ description: "The side that was rated." }),
    stars: z.int(),
    comment: z.string().nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: "Rating" });
export type Rating = z.infer<typeof Rating>;

/** The fields of a rating that the rater sets. Source: docs/contract.md "Limits". */
export const ratingInput = { stars: z.int().min(1).max(5), comment: emptyableText(500) } as const;
