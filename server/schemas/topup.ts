import { z } from "zod";
import { Cents, Id, Timestamp } from "./common.ts";

/** A top-up that was credited to its owner's wallet. */
export const CreditedTopup = z
  .object({
    id: Id,
    sessionId: z.string().meta({ description: "As `POST /wallet/topup` returned it." }),
    amountCents: Cents,
    createdAt: Timestamp,
  })
  .meta({ id: "CreditedTopup" });
export type CreditedTopup = z.infer<typeof CreditedTopup>;

/** A movement that follows a refund or a chargeback of a top-up. */
export const TopupReversal = z
  .object({
    kind: z.enum(["topup_refund", "chargeback"]),
    amountCents: Cents.meta({
      description:
        "Integer cents. Negative: what is taken back, even if less is available. Positive: what is returned.",
    }),
  })
  .meta({ id: "TopupReversal" });
export type TopupReversal = z.infer<typeof TopupReversal>;
