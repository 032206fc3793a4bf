import { z } from "zod";
import { Agreement, AgreementKind, giveBackReason, ProposeAgreement } from "../../schemas/agreement.ts";
import { Id } from "../../schemas/common.ts";
import type { Task } from "../../schemas/task.ts";
import { money, time } from "../text.ts";
import { type Amounts, type Api, moneyTool } from "../tool.ts";
import { bidId } from "./awardTask.ts";
import { TaskState, taskId } from "./getTask.ts";

const { reason, deliveryDueAt, bidderCents } = ProposeAgreement.shape;

/** Where the price of a task goes that an agreement ends; nothing for one that gives more time. */
async function amountsOf(
  api: Api,
  agreement: Agreement,
  { awardedBidId }: Partial<Pick<Task, "awardedBidId">>,
): Promise<Amounts> {
  if (agreement.kind === "extend" || !awardedBidId) return {};
  const heldCents = (await api.bids.read({ id: awardedBidId })).bid.priceCents;
  const toBidderCents = agreement.bidderCents ?? 0;
  return { heldCents, toBidderCents, toBuyerCents: heldCents - toBidderCents };
}

const wordsOf = ({ heldCents = 0, toBidderCents = 0, toBuyerCents = 0 }: Amounts) =>
  `the bidder gets ${money(toBidderCents)} of the ${money(heldCents)} that were held, and ${money(toBuyerCents)} return to the buyer`;

export const proposeAgreement = moneyTool({
  name: "propose_agreement",
  title: "Propose an agreement",
  description:
    "Proposes something to the other side of an awarded task, as its buyer or bidder: `extend` (send deliveryDueAt), `cancel` (the " +
    "price returns to the buyer) or `settle` (send bidderCents, what the bidder is paid; the rest returns), also during a dispute. " +
    "Nothing moves until they accept; it lapses after 7 days. `cancel` and `settle` first return a preview and a token; call again " +
    "with the token as `confirm`.",
  procedures: ["agreements.propose", "tasks.read", "bids.read"],
  kind: "money",
  input: z.strictObject({ taskId, kind: AgreementKind, reason, deliveryDueAt, bidderCents }),
  output: z.object({ agreement: Agreement }),
  movesMoney: ({ kind }) => kind !== "extend",
  async preview({ api, text }, { taskId: id, ...input }, rehearse) {
    const { agreement } = await rehearse.agreements.propose({ id, ...input });
    const { task } = await api.tasks.read({ id });
    const amounts = await amountsOf(api, agreement, task);
    text
      .say(
        `This would propose to end task ${id}. Nothing moves until the other side accepts; then ${wordsOf(amounts)}.`,
      )
      .sayQuoted("Title", task.title);
    return amounts;
  },
  async act({ keyed, text }, { taskId: id, ...input }) {
    const { agreement } = await keyed.agreements.propose({ id, ...input });
    text
      .say(
        `Proposed agreement ${agreement.id} about task ${id}. The other side may answer until ${time(agreement.expiresAt)}. ` +
          "You may withdraw it with answer_agreement.",
      )
      .next("wait_for_events with types agreement.ended.");
    return { agreement };
  },
});

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
      text.say(`This would accept agreement ${id}, and task ${task.id} end as ${task.status}: ${wordsOf(amounts)}.`);
    }
    text.sayQuoted("Reason", agreement.reason);
    return amounts;
  },
  async act({ keyed, text }, { agreementId: id, answer }, amounts) {
    const { agreement, task } = await keyed.agreements[answer]({ id });
    const moved = answer === "accept" && agreement.kind !== "extend" ? `: ${wordsOf(amounts)}` : "";
    text.say(`Agreement ${id} is ${agreement.status}. Task ${task.id} is ${task.status}${moved}.`);
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
