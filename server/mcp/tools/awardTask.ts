import { z } from "zod";
import { Bid } from "../../schemas/bid.ts";
import { Id, InputTimestamp, NextCursor } from "../../schemas/common.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import { Reputation } from "../../schemas/reputation.ts";
import { money, time } from "../text.ts";
import { moneyTool, plainTool } from "../tool.ts";
import { TaskState, taskId } from "./getTask.ts";
import { reputationOf, wordsOfBidder } from "./reputations.ts";

export const bidId = Id.meta({ description: "The bid's `id`." });

/** What a bid offers, and its status. */
export const BidState = Bid.pick({
  id: true,
  taskId: true,
  priceCents: true,
  etaHours: true,
  notes: true,
  status: true,
}).extend({
  feeCents: Bid.shape.feeCents.meta({ description: "" }),
  netCents: Bid.shape.netCents.meta({ description: "" }),
});

export const compareBids = plainTool({
  name: "compare_bids",
  title: "Compare bids",
  description:
    "Lists the bids on your task with each bidder's reputation, the cheapest of the page first. On another user's task, only " +
    "your own bids. Then award one with award_task.",
  procedures: ["bids.listForTask", "users.reputation"],
  kind: "read",
  input: z.strictObject({
    taskId,
    cursor: InputTimestamp.optional().meta({ description: "`nextCursor` of the previous page, unchanged." }),
    limit: z.int().min(1).max(25).default(10).meta({ description: "Bids per page." }),
  }),
  output: z.object({
    bids: z.array(BidExcerpt.omit({ taskEditedAt: true }).extend({ bidderReputation: Reputation.nullable() })),
    nextCursor: NextCursor,
  }),
  async run({ api, text }, { taskId: id, cursor, limit }) {
    const page = await api.bids.listForTask({ id, cursor, limit });
    const bidders = [...new Set(page.bids.map(({ bidder }) => bidder.id))];
    const found = await Promise.all(bidders.map(async (bidder) => [bidder, await reputationOf(api, bidder)] as const));
    const reputations = new Map(found);
    const bids = page.bids
      .map((bid) => ({ ...bid, bidderReputation: reputations.get(bid.bidder.id) ?? null }))
      .sort((a, b) => a.priceCents - b.priceCents);
    for (const { id: bid, status, priceCents, etaHours, bidder, bidderReputation, notes } of bids) {
      text.say(
        `- bid ${bid}: ${status}, ${money(priceCents)}, ${etaHours} hours. Bidder ${bidder.id}: ${wordsOfBidder(bidderReputation)}.`,
      );
      text.sayQuoted("  Notes", notes);
    }
    if (bids.length === 0) text.say("There are no bids to see.").next("wait_for_events with types bid.received.");
    else if (page.nextCursor !== null) text.say(`There may be more: call again with cursor ${page.nextCursor}.`);
    if (bids.some(({ status }) => status === "active")) text.next("award_task with the bidId that you choose.");
    return { bids, nextCursor: page.nextCursor };
  },
});

export const awardTask = moneyTool({
  name: "award_task",
  title: "Award a task",
  description:
    "Gives your open task to one bid: its price stays held for the bidder, the rest of the budget returns to you, and the " +
    "other bids are rejected. It cannot be undone. First returns a preview and a token; call again with the token as `confirm`.",
  procedures: ["tasks.award", "bids.read", "tasks.read"],
  kind: "money",
  isDestructive: true,
  input: z.strictObject({ taskId, bidId }),
  output: z.object({ task: TaskState, awardedBid: BidState }),
  async preview({ api, text }, { taskId: id, bidId: bid }, rehearse, agreed) {
    const priceCents = agreed?.priceCents ?? (await api.bids.read({ id: bid })).bid.priceCents;
    const { task, awardedBid } = await rehearse.tasks.award({ id, bidId: bid, expectedPriceCents: priceCents });
    const returnedCents = task.maxBudgetCents - priceCents;
    text
      .say(
        `This would award task ${id} to bid ${bid} of bidder ${awardedBid.bidder.id}, to be delivered within ${awardedBid.etaHours} hours. ` +
          `${money(priceCents)} stay held for the bidder, and ${money(returnedCents)} return to you.`,
      )
      .sayQuoted("Title", task.title);
    // The hours are the bidder's promise, and can be changed like the price: so they are agreed on, too.
    return { priceCents, returnedCents, etaHours: awardedBid.etaHours };
  },
  async act({ keyed, text }, { taskId: id, bidId: bid }, { priceCents }) {
    const input = { id, bidId: bid, expectedPriceCents: priceCents };
    const { task, awardedBid } = await keyed.tasks.award(input);
    const due = task.deliveryDueAt === null ? "" : ` Delivery is due ${time(task.deliveryDueAt)}.`;
    text
      .say(`Awarded task ${id} for ${money(awardedBid.priceCents)}.${due}`)
      .next("wait_for_events with types delivery.posted, then read_delivery.");
    return { task, awardedBid };
  },
});
