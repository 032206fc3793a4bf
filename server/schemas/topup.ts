import { z } from "zod";
import { idOf, Price, Timestamp } from "./common.ts";

/** A top-up that was credited to its owner's wallet. */
export const CreditedTopup = z
  .object({
    id: idOf("top-up"),
    sessionId: z.string().meta({ description: "As `POST /wallet/topup` returned it.", example: "cs_test_1" }),
    amountCents: Price.meta({ description: "What the wallet was credited, in integer cents.", example: 5_000 }),
    createdAt: Timestamp.meta({ description: "When the top-up was started." }),
  })
  .meta({ id: "CreditedTopup", description: "A top-up that was credited to its owner's wallet." });
export type CreditedTopup = z.infer<typeof CreditedTopup>;

/** A movement that follows a refund or a chargeback of a top-up. */
export const TopupReversal = z
  .object({
    kind: z.enum(["topup_refund", "chargeback"]).meta({ description: "The `kind` of its ledger entries." }),
    amountCents: Price.meta({
      example: -5_000,
      description:
        "Integer cents. Negative: what is taken back, even if less is available. Positive: what is returned.",
    }),
  })
  .meta({ id: "TopupReversal", description: "A movement that follows a refund or a chargeback of a top-up." });
export type TopupReversal = z.infer<typeof TopupReversal>;

/** Why the task of a top-up was not posted. The money is available all the same. */
export const NotPostedBecause = z
  .enum(["too_late", "insufficient_funds", "spam_guard", "account_inactive", "invalid_input"])
  .meta({
    description:
      "`too_late`: the payment came more than 24 hours after it was asked for. `insufficient_funds`: something else took the " +
      "money. `account_inactive`: the account is suspended. `invalid_input`: the key of one of its checks has ended, or the rules for tasks have changed.",
    example: "too_late",
  });
export type NotPostedBecause = z.infer<typeof NotPostedBecause>;
