import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { Dispute, disputeReason } from "../../schemas/dispute.ts";
import { Rating, ratingInput } from "../../schemas/rating.ts";
import type { Task } from "../../schemas/task.ts";
import { money } from "../text.ts";
import { type Api, moneyTool, plainTool } from "../tool.ts";
import { TaskState, taskId } from "./getTask.ts";

/** The price that is held for the bidder of an awarded task. */
async function readPrice(api: Api, { awardedBidId }: Pick<Task, "awardedBidId">): Promise<number> {
  if (awardedBidId === null) throw new ApiError("wrong_status");
  return (await api.bids.read({ id: awardedBidId })).bid.priceCents;
}

export const acceptDelivery = moneyTool({
  name: "accept_delivery",
  title: "Accept a delivery",
  description:
    "Accepts the delivery of your task and pays the bidder. It cannot be undone: read the delivery first (read_delivery). " +
    "First returns a preview and a token; call again with the token as `confirm`.",
  procedures: ["tasks.accept", "bids.read"],
  kind: "money",
  isDestructive: true,
  input: z.strictObject({ taskId }),
  output: z.object({ task: TaskState }),
  async preview({ api, text }, { taskId: id }, rehearse) {
    const { task } = await rehearse.tasks.accept({ id });
    const paidCents = await readPrice(api, task);
    text.say(`This would accept the delivery of task ${id}, and pay the bidder ${money(paidCents)}.`);
    text.sayQuoted("Title", task.title);
    return { paidCents };
  },
  async act({ keyed, text }, { taskId: id }, { paidCents = 0 }) {
    const { task } = await keyed.tasks.accept({ id });
    text.say(`Accepted the delivery of task ${id}. The bidder was paid ${money(paidCents)}.`).next("rate the bidder.");
    return { task };
  },
});

export const disputeDelivery = moneyTool({
  name: "dispute_delivery",
  title: "Dispute a delivery",
  description:
    "Opens a dispute about a delivery that is not what was agreed on, as the buyer or as the bidder. The price stays held until " +
    "a moderator decides, and nobody can take the dispute back. First returns a preview and a token; call again with the token " +
    "as `confirm`.",
  procedures: ["tasks.dispute", "bids.read"],
  kind: "money",
  isDestructive: true,
  input: z.strictObject({
    taskId,
    reason: disputeReason.meta({
      description: "What was agreed on, what was delivered instead: the moderator reads it.",
    }),
  }),
  output: z.object({ dispute: Dispute, task: TaskState }),
  async preview({ api, text }, { taskId: id, reason }, rehearse) {
    const { task } = await rehearse.tasks.dispute({ id, reason });
    const frozenCents = await readPrice(api, task);
    text.say(`This would open a dispute about task ${id}. ${money(frozenCents)} stay held until a moderator decides.`);
    text.sayQuoted("Title", task.title);
    return { frozenCents };
  },
  async act({ keyed, text }, { taskId: id, reason }) {
    const { dispute, task } = await keyed.tasks.dispute({ id, reason });
    text
      .say(`Opened dispute ${dispute.id} about task ${id}. A moderator decides.`)
      .next("wait_for_events with types task.dispute_resolved.");
    return { dispute, task };
  },
});

export const rate = plainTool({
  name: "rate",
  title: "Rate the other side",
  description: "Rates the other side of a task that was accepted or whose dispute was resolved: once, and for good.",
  procedures: ["tasks.rate"],
  kind: "change",
  input: z.strictObject({ taskId, stars: ratingInput.stars, comment: ratingInput.comment.optional() }),
  output: z.object({ rating: Rating }),
  async run({ keyed, text }, { taskId: id, ...input }) {
    const { rating } = await keyed.tasks.rate({ id, ...input });
    text.say(`Rated the ${rating.role} of task ${id} with ${rating.stars} of 5 stars.`);
    return { rating };
  },
});
