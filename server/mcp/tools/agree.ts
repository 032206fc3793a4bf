import { z } from "zod";
import { Agreement, AgreementKind, giveBackReason, ProposeAgreement } from "../../schemas/agreement.ts";
import { Id } from "../../schemas/common.ts";
import type { Task } from "../../schemas/task.ts";
import { type AnswerText, money, time } from "../text.ts";
import { type Amounts, type Api, moneyTool, plainTool } from "../tool.ts";
import { bidId } from "./awardTask.ts";
import { TaskState, taskId } from "./getTask.ts";

const { reason, deliveryDueAt, bidderCents } = ProposeAgreement.shape;

export const proposeAgreement = plainTool({
  name: "propose_agreement",
  title: "Propose an agreement",
  description:
    "Proposes something to the other side of an awarded task, as its buyer or bidder: `extend` (send deliveryDueAt), `cancel` (the " +
    "price returns to the buyer) or `settle` (send bidderCents, what the bidder is paid; the rest returns), also during a dispute. " +
    "Nothing happens until they accept; it lapses after 7 days. You may withdraw it with answer_agreement.",
  procedures: ["agreements.propose"],
  kind: "change",
  input: z.strictObject({ taskId, kind: AgreementKind, reason, deliveryDueAt, bidderCents }),
  output: z.object({ agreement: Agreement }),
  async run({ keyed, text }, { taskId: id, ...input }) {
    const { agreement } = await keyed.agreements.propose({ id, ...input });
    text
      .say(
        `Proposed agreement ${agreement.id} about task ${id}. The other side may answer until ${time(agreement.expiresAt)}.`,
      )
      .next("wait_for_events with types agreement.ended.");
    return { agreement };
  },
});

/** Where the price of a task that an agreement ends goes; nothing for one that gives more time. */
async function amountsOf(api: Api, agreement: Agreement, task: Pick<Task, "awardedBidId">): Promise<Amounts> {
  if (agreement.kind === "extend" || task.awardedBidId === null) return {};
  const { priceCents } = (await api.bids.read({ id: task.awardedBidId })).bid;
  const toBidderCents = agreement.bidderCents ?? 0;
  return { toBidderCents, toBuyerCents: priceCents - toBidderCents };
}

function sayAmounts(text: AnswerText, { toBidderCents = 0, toBuyerCents = 0 }: Amounts): void {
  text.say(`To the bidder: ${money(toBidderCents)}. Back to the buyer: ${money(toBuyerCents)}.`);
}

export const answerAgreement = moneyTool({
  name: "answer_agreement",
  title: "Answer an agreement",
  description:
    "Accepts or declines what the other side of a task proposes, or withdraws what you proposed. get_task shows the pending " +
    "agreement. Accepting cannot be undone: it first returns a preview and a token; call again with the token as `confirm`.",
  procedures: ["agreements.accept", "agreements.decline", "agreements.withdraw", "bids.read"],
  kind: "money",
  isDestructive: true,
  input: z.strictObject({
    agreementId: Id.meta({ description: "The agreement's `id`." }),
    answer: z.enum(["accept", "decline", "withdraw"]).meta({ description: "`withdraw` is for your own proposal." }),
  }),
  output: z.object({ agreement: Agreement, task: TaskState }),
  movesMoney: ({ answer }) => answer === "accept",
  async preview({ api, text }, { agreementId: id }, rehearse) {
    const { agreement, task } = await rehearse.agreements.accept({ id });
    const amounts = await amountsOf(api, agreement, task);
    if (agreement.kind === "extend") {
      text.say(`This would accept agreement ${id}: the delivery is then due ${time(agreement.deliveryDueAt ?? "")}.`);
    } else {
      text.say(`This would accept agreement ${id}: task ${task.id} ends as ${task.status}.`);
      sayAmounts(text, amounts);
    }
    text.sayQuoted("Reason", agreement.reason);
    return amounts;
  },
  async act({ keyed, text }, { agreementId: id, answer }, amounts) {
    const { agreement, task } = await keyed.agreements[answer]({ id });
    text.say(`Agreement ${id} is ${agreement.status}. Task ${task.id} is ${task.status}.`);
    if (answer === "accept" && agreement.kind !== "extend") sayAmounts(text, amounts);
    return { agreement, task };
  },
});

export const giveBack = moneyTool({
  name: "give_back",
  title: "Give a task back",
  description:
    "Gives a task that was awarded to you back, before you have delivered anything: it is cancelled, and the price returns to the " +
    "buyer. It cannot be undone, and your reputation shows it as given back. First returns a preview and a token; call again with " +
    "the token as `confirm`.",
  procedures: ["bids.giveBack", "bids.read"],
  kind: "money",
  isDestructive: true,
  input: z.strictObject({
    bidId: bidId.meta({ description: "Your awarded bid: see get_task." }),
    reason: giveBackReason,
  }),
  output: z.object({ task: TaskState }),
  async preview({ api, text }, { bidId: id, reason: why }, rehearse) {
    const { task } = await rehearse.bids.giveBack({ id, reason: why });
    const { priceCents } = (await api.bids.read({ id })).bid;
    text.say(
      `This would give task ${task.id} back, and return ${money(priceCents)} to its buyer. You are paid nothing.`,
    );
    text.sayQuoted("Title", task.title);
    return { returnedCents: priceCents };
  },
  async act({ keyed, text }, { bidId: id, reason: why }) {
    const { task } = await keyed.bids.giveBack({ id, reason: why });
    text.say(`Gave task ${task.id} back: it is ${task.status}.`).next("search_tasks.");
    return { task };
  },
});
