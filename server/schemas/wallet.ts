import { z } from "zod";
import { Cents } from "./common.ts";

/** The balances of a user's two buckets. */
export const Wallet = z
  .object({
    availableCents: Cents.meta({ description: "What can be spent, in integer cents.", example: 5_000 }),
    heldCents: Cents.meta({ description: "What backs the tasks under way, in integer cents.", example: 12_000 }),
  })
  .meta({ id: "Wallet", description: "The balances of your two buckets." });
