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
    kind: z.enum(ledgerKinds),
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
          "`:reversal`, `refund:<refund>` and its `:failed`, `dispute:<dispute>:<movement>`, and for the payment of a debt " +
          "`debt:<what left the debt>:<number>`.",
      }),
    createdAt: Timestamp,
  })
  .meta({ id: "LedgerEntry" });
export type LedgerEntry = z.infer<typeof LedgerEntry>;
