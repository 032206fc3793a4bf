import { z } from "zod";
import { Cents } from "./common.ts";
import { ledgerKinds, walletBuckets } from "./ledgerEntry.ts";
import { Wallet } from "./wallet.ts";

export const Statement = z
  .object({
    month: z.string().meta({ description: "In the time zone of the service's operator.", example: "2026-11" }),
    opening: Wallet.meta({ description: "The balances before the month." }),
    closing: Wallet.meta({ description: "The balances after the month, or now: the opening and all sums." }),
    sums: z
      .array(
        z
          .object({
            kind: z.enum(ledgerKinds).meta({ description: "Why the money moved.", example: "task_earning" }),
            bucket: z
              .enum(walletBuckets)
              .meta({ description: "The bucket whose balance changed.", example: "available" }),
            amountCents: Cents.meta({ description: "The sum of the entries, signed.", example: 12_000 }),
          })
          .meta({ id: "StatementSum", description: "What entries of one kind did to a bucket in a month." }),
      )
      .meta({ description: "Of each kind and bucket that has entries." }),
    feeCents: Cents.meta({ description: "The platform's fees of the month, tax included.", example: 600 }),
    feeTaxCents: Cents.meta({ description: "The tax in these fees.", example: 95 }),
  })
  .meta({ id: "WalletStatement", description: "A month of your wallet." });
export type Statement = z.infer<typeof Statement>;
