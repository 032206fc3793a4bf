import { z } from "zod";
import { idOf, Price, Timestamp } from "./common.ts";

/** The most that a schedule may take, and the highest rate of tax in it, in hundredths of a percent. */
export const MAX_BASIS_POINTS = 5_000;
export const MAX_TAX_BASIS_POINTS = 10_000;

export const FeeSchedule = z
  .object({
    id: idOf("fee schedule"),
    from: Timestamp.meta({
      description: "Bids whose price is set from then on have this fee, until the next schedule.",
      example: "2026-12-01T00:00:00.000000Z",
    }),
    basisPoints: z.int32().meta({ description: "Hundredths of a percent of the price.", example: 500 }),
    minCents: Price.meta({ description: "The fee is at least this, and at most the price.", example: 50 }),
    maxCents: Price.nullable().meta({
      description: "The fee is at most this; null for no maximum.",
      example: 20_000,
    }),
    taxBasisPoints: z.int32().meta({
      description: "The rate of the tax that the fee includes, in hundredths of a percent.",
      example: 1_900,
    }),
  })
  .meta({ id: "FeeSchedule", description: "What the platform takes of the price of a task. The bidder pays it." });
export type FeeSchedule = z.infer<typeof FeeSchedule>;

/** What decides about the fee of an amount. */
export type FeeTerms = Pick<FeeSchedule, "basisPoints" | "minCents" | "maxCents">;
