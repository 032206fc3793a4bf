import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { Cents, Id, InputTimestamp, MAX_INT32, NextCursor } from "../../schemas/common.ts";
import { LedgerEntry } from "../../schemas/ledgerEntry.ts";
import { Payout } from "../../schemas/payout.ts";
import { money, time } from "../text.ts";
import { moneyTool, plainTool } from "../tool.ts";

const LATEST_PAYOUTS = 5;

export const getWallet = plainTool({
  name: "get_wallet",
  title: "Read the wallet",
  description:
    "Reads your wallet: `available` can be spent or paid out, `held` backs your tasks under way. With the latest entries of the " +
    "ledger, which say why money moved, and your latest payouts. Only a person can top up, in a browser session.",
  procedures: ["wallet.read", "wallet.ledger", "payouts.list"],
  kind: "read",
  input: z.strictObject({
    cursor: InputTimestamp.optional().meta({
      description: "`nextCursor` of the previous page of the ledger, unchanged.",
    }),
    limit: z.int().min(1).max(100).default(5).meta({ description: "Ledger entries per page." }),
  }),
  output: z.object({
    availableCents: Cents,
    heldCents: Cents,
    entries: z.array(LedgerEntry),
    nextCursor: NextCursor,
    payouts: z.array(Payout).meta({ description: "The latest five." }),
  }),
  async run({ api, text }, { cursor, limit }) {
    const { availableCents, heldCents } = await api.wallet.read();
    const { entries, nextCursor } = await api.wallet.ledger({ cursor, limit });
    const { payouts } = await api.payouts.list({ limit: LATEST_PAYOUTS });
    text.say(`Available: ${money(availableCents)}. Held: ${money(heldCents)}.`);
    for (const { kind, bucket, amountCents, taskId, createdAt } of entries) {
      const task = taskId === null ? "" : `, task ${taskId}`;
      text.say(`- ${time(createdAt)}: ${kind}, ${money(amountCents)} ${bucket}${task}`);
    }
    if (nextCursor !== null) text.say(`There may be older entries: call again with cursor ${nextCursor}.`);
    for (const { id, amountCents, status } of payouts) text.say(`- payout ${id}: ${money(amountCents)}, ${status}`);
    return { availableCents, heldCents, entries, nextCursor, payouts };
  },
});

export const requestPayout = moneyTool({
  name: "request_payout",
  title: "Request a payout",
  description:
    "Pays available money out to your bank account, at least 1,000 cents. A person must have finished the payout onboarding in a " +
    "browser session before. First returns a preview and a token; call again with the token as `confirm`.",
  procedures: ["payouts.create", "wallet.read"],
  kind: "money",
  input: z.strictObject({ amountCents: z.int().min(1000).max(MAX_INT32).meta({ description: "Integer cents." }) }),
  output: z.object({ pendingLedgerId: Id, status: z.literal("pending") }),
  // A payout asks the processor, so it cannot be tried: only the confirmed call finds out whether it is refused for another
  // reason. A repeat of that call finds less in the wallet, and is answered all the same.
  async preview({ api, text, context }, { amountCents }, _rehearse, agreed) {
    const { availableCents } = await api.wallet.read();
    const { principal } = context;
    const aboveCents = principal?.kind === "apiKey" ? principal.approvalAboveCents : null;
    if (aboveCents !== null && amountCents > aboveCents) context.onApprovalNeeded?.();
    const rest = availableCents - amountCents;
    if (rest < 0 && agreed === null) {
      throw new ApiError("insufficient_funds", { neededCents: amountCents, availableCents });
    }
    text.say(
      `This would pay ${money(amountCents)} of your available ${money(availableCents)} out to your bank account, and leave ${money(rest)}.`,
    );
    return { amountCents };
  },
  async act({ keyed, text }, { amountCents }) {
    const payout = await keyed.payouts.create({ amountCents });
    text
      .say(
        `Requested a payout of ${money(amountCents)}. The wallet was debited (ledger entry ${payout.pendingLedgerId}).`,
      )
      .next("wait_for_events with types payout.updated; a payout that fails comes back to the wallet.");
    return payout;
  },
});
