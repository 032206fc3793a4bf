import { z } from "zod";
import { Cents, Id, Timestamp } from "./common.ts";

const payoutStatuses = ["pending", "waiting_funds", "in_transit", "paid", "failed"] as const;
export type PayoutStatus = (typeof payoutStatuses)[number];

/** Money on its way from a wallet to its owner's bank account. */
export const Payout = z
  .object({
    id: Id,
    amountCents: Cents,
    status: z.enum(payoutStatuses).meta({
      description:
        "`pending`: being prepared. `waiting_funds`: retried until the balance that it comes from covers it. `in_transit`: on its " +
        "way. `paid`: the bank has it. `failed`: the money is back in the wallet. A bank can return a payout that was paid.",
    }),
    pendingLedgerId: Id.meta({ description: "The ledger entry that debited the wallet." }),
    failureMessage: z.string().nullable().meta({ description: "Why it failed or is being returned." }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: "Payout" });
export type Payout = z.infer<typeof Payout>;
