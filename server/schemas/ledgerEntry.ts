import { z } from "zod";
import { Cents, Id, Timestamp } from "./common.ts";

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
] as const;

/** One side of a movement of money, in one of the user's two buckets. */
export const LedgerEntry = z
  .object({
    id: Id,
    userId: Id,
    kind: z.enum(ledgerKinds).meta({
      description:
        "Why the money moved. An `adjustment` out of `available` is the payment of a debt. A debt arises when a top-up is " +
        "refunded or charged back and less than its amount is available: what is there is taken, as `topup_refund` or " +
        "`chargeback`, and the rest is owed; when nothing is there, no entry tells of it. A debt is no bucket, and no " +
        "balance falls below 0 for it: whatever becomes available next pays it, the oldest debt first, at once and " +
        "before it can be spent. `externalRef` says which debt.",
    }),
    bucket: z.enum(["available", "held"]),
    amountCents: Cents.meta({ description: "Signed: negative leaves the bucket." }),
    taskId: Id.nullable(),
    bidId: Id.nullable(),
    externalRef: z
      .string()
      .nullable()
      .meta({
        description:
          "What is behind money that came in or went out: a top-up's payment (`pi_…`), `payout:<payout id>` and its " +
          "`:reversal`, `refund:<refund>` and its `:failed`, `dispute:<dispute>:<movement>`. The payment of a debt has " +
          "`debt:<reference>:<number>`: the reference of the refund or chargeback that left the debt, and a number that " +
          "tells several payments of one debt apart. `debt:dispute:du_1:txn_2:7` pays what `dispute:du_1:txn_2` left " +
          "owing, also when that has no entry of its own here.",
      }),
    createdAt: Timestamp,
  })
  .meta({ id: "LedgerEntry" });
export type LedgerEntry = z.infer<typeof LedgerEntry>;
