import { z } from "zod";
import { Cents, Id, idOf, Timestamp } from "./common.ts";

export const ledgerKinds = [
  "topup",
  "hold",
  "hold_release",
  "task_payment",
  "task_earning",
  "dispute_refund",
  "payout",
  "payout_reversal",
  "topup_refund",
  "chargeback",
  "adjustment",
  "platform_fee",
] as const;

export const walletBuckets = ["available", "held"] as const;

/** One movement of money into or out of one of the user's two buckets. */
export const LedgerEntry = z
  .object({
    id: idOf("ledger entry"),
    userId: idOf("user", "Whose money it is."),
    kind: z.enum(ledgerKinds).meta({
      example: "topup",
      description:
        "Why the money moved. An `adjustment` out of `available` pays a debt. A debt arises when a top-up is refunded or " +
        "charged back and less than its amount is available: what is available is taken, as `topup_refund` or " +
        "`chargeback`, and the rest is owed. When nothing is available, there is no entry. A debt is not a bucket and " +
        "never makes a balance negative: the next money that becomes available pays it immediately, before it can be " +
        "spent, the oldest debt first. `externalRef` names the debt. A `platform_fee` is taken from the earning that it comes " +
        "with, before any debt.",
    }),
    bucket: z.enum(walletBuckets).meta({ description: "The bucket of the wallet whose balance changed." }),
    amountCents: Cents.meta({ description: "Integer cents, signed: negative leaves the bucket.", example: 5_000 }),
    taskId: Id.nullable().meta({ description: "The task that the money is for.", example: null }),
    bidId: Id.nullable().meta({ description: "The bid that the money is for.", example: null }),
    externalRef: z
      .string()
      .nullable()
      .meta({
        example: "pi_3",
        description:
          "The reason for money that came in or went out: a top-up's payment (`pi_…`), `payout:<payout id>` and its " +
          "`:reversal`, `refund:<refund>` and its `:failed`, `dispute:<dispute>:<movement>`. The payment of a debt has " +
          "`debt:<reference>:<number>`, with the reference of the refund or chargeback that caused the debt and a number " +
          "that distinguishes several payments of one debt. `debt:dispute:du_1:txn_2:7` pays a debt that " +
          "`dispute:du_1:txn_2` caused, even if that has no entry of its own.",
      }),
    createdAt: Timestamp.meta({ description: "When the money moved." }),
  })
  .meta({ id: "LedgerEntry", description: "One movement of money into or out of one of your two buckets." });
export type LedgerEntry = z.infer<typeof LedgerEntry>;
