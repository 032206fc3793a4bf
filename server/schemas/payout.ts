import { z } from "zod";
import { idOf, Price, Timestamp } from "./common.ts";

const payoutStatuses = ["pending", "waiting_funds", "in_transit", "paid", "failed"] as const;
export type PayoutStatus = (typeof payoutStatuses)[number];

/** Money on its way from a wallet to its owner's bank account. */
export const Payout = z
  .object({
    id: idOf("payout"),
    amountCents: Price.meta({ description: "What the bank account receives, in integer cents.", example: 8_500 }),
    status: z.enum(payoutStatuses).meta({
      description:
        "`pending`: being prepared. `waiting_funds`: retried until the balance that it comes from covers it. `in_transit`: on its " +
        "way. `paid`: the bank has it. `failed`: the money is back in the wallet. A bank can return a payout that was paid.",
    }),
    pendingLedgerId: idOf("ledger entry", "The ledger entry that debited the wallet."),
    failureMessage: z.string().nullable().meta({ description: "Why it failed or is being returned.", example: null }),
    createdAt: Timestamp.meta({ description: "When the payout was requested." }),
    updatedAt: Timestamp.meta({ description: "When the payout last changed." }),
  })
  .meta({ id: "Payout", description: "Money on its way from a wallet to its owner's bank account." });
export type Payout = z.infer<typeof Payout>;
