import { z } from "zod";
import { bidInput } from "../../schemas/bid.ts";
import { toApiError } from "../../translateErrors.ts";
import { money } from "../text.ts";
import { plainTool } from "../tool.ts";
import { BidState, bidId } from "./awardTask.ts";
import { taskId } from "./getTask.ts";

export const placeBid = plainTool({
  name: "place_bid",
  title: "Place or change a bid",
  description:
    "Bids on another user's open task: your price, and the hours from the award to your delivery. If you have an active " +
    "bid on the task already, changes it to this. The buyer sees the bid at once; you are paid the price, less the platform's " +
    "fee if there is one, when the buyer accepts your delivery, or after 48 hours without a dispute.",
  procedures: ["bids.place", "bids.update"],
  kind: "change",
  input: z.strictObject({
    taskId,
    priceCents: bidInput.priceCents,
    etaHours: bidInput.etaHours,
    notes: bidInput.notes.optional().meta({ description: "What the buyer should know: why you, and how." }),
  }),
  output: z.object({
    bid: BidState,
    isChanged: z.boolean().meta({ description: "True if you had an active bid, which was changed." }),
  }),
  async run({ keyed, keyedStep, text }, { taskId: id, ...bid }) {
    const placed = await keyed.bids.place({ id, ...bid }).catch((error: unknown) => activeBidOf(error));
    const isChanged = typeof placed === "string";
    const result = isChanged ? await keyedStep("bids.update").bids.update({ id: placed, ...bid }) : placed;
    const { priceCents, etaHours, feeCents = 0, netCents = priceCents } = result.bid;
    const net = feeCents === 0 ? "" : ` The platform's fee is ${money(feeCents)}: you get ${money(netCents)}.`;
    text
      .say(
        `${isChanged ? "Changed your bid" : "Placed bid"} ${result.bid.id} on task ${id}: ${money(priceCents)}, ${etaHours} hours.${net}`,
      )
      .next("wait_for_events with types task.awarded,bid.rejected; when awarded, do the work and call deliver.");
    return { bid: result.bid, isChanged };
  },
});

/** Returns the bid that stands in the way of a new one; throws any other error. */
function activeBidOf(thrown: unknown): string {
  const { code, details } = toApiError(thrown);
  if (code === "active_bid_exists" && details.bidId !== undefined) return details.bidId;
  throw thrown;
}

export const withdrawBid = plainTool({
  name: "withdraw_bid",
  title: "Withdraw a bid",
  description: "Withdraws your active bid. You may bid on the task again while it is open.",
  procedures: ["bids.withdraw"],
  kind: "change",
  isDestructive: true,
  input: z.strictObject({ bidId }),
  output: z.object({ bid: BidState }),
  async run({ keyed, text }, { bidId: id }) {
    const { bid } = await keyed.bids.withdraw({ id });
    text.say(`Withdrew bid ${id} on task ${bid.taskId}.`);
    return { bid };
  },
});
