import { z } from "zod";
import { Agreement } from "../../schemas/agreement.ts";
import { Delivery, Sample } from "../../schemas/artifact.ts";
import { Id } from "../../schemas/common.ts";
import { Dispute } from "../../schemas/dispute.ts";
import { BidExcerpt } from "../../schemas/excerpts.ts";
import type { FeeSchedule } from "../../schemas/fee.ts";
import { BriefFile } from "../../schemas/file.ts";
import { Question } from "../../schemas/question.ts";
import { Rating } from "../../schemas/rating.ts";
import { Reputation } from "../../schemas/reputation.ts";
import { Task } from "../../schemas/task.ts";
import { TaskOperation } from "../../schemas/taskOperation.ts";
import { type AnswerText, count, money, time } from "../text.ts";
import { type Api, plainTool } from "../tool.ts";
import { sayAgreedChecks, sayVerdicts } from "./checks.ts";
import { toolsFor } from "./nextTools.ts";
import { reputationOf, wordsOfBuyer } from "./reputations.ts";

const Role = z.enum(["buyer", "bidder", "visitor"]);

export const taskId = Id.meta({ description: "The task's `id`." });

/** What changes about a task. get_task has the rest. */
export const TaskState = Task.pick({
  ...{ id: true, title: true, status: true, maxBudgetCents: true, bidCount: true, awardedBidId: true },
  ...{ deliveryDueAt: true, acceptanceDeadlineAt: true },
});

const FileRecord = Sample.omit({ downloadUrl: true });
const DeliveryRecord = Delivery.omit({ downloadUrl: true });

/** A task with everything that a decision about it needs. */
export const getTask = plainTool({
  name: "get_task",
  title: "Read a task",
  description:
    "Reads a task with what you need to decide: description, acceptance criteria, checks, budget, deadlines, the buyer's reputation, " +
    "your own bid, the newest 20 questions, and nextTools, the tools that you can use on it now. If it is your task or was awarded to you, also its " +
    "files (read them with read_delivery), dispute and ratings.",
  procedures: ["tasks.read", "users.reputation", "questions.list", "fees.read"],
  kind: "read",
  input: z.strictObject({ taskId }),
  output: z.object({
    task: Task,
    role: Role.meta({ description: "What you are: the task's buyer, its awarded bidder, or neither." }),
    nextTools: z.array(z.string()).meta({ description: "The tools that are possible on this task now." }),
    availableActions: z.array(TaskOperation),
    ownBid: BidExcerpt.optional().meta({ description: "Your bid that is active or was awarded, or else your latest." }),
    buyerReputation: Reputation.nullable(),
    files: z.array(BriefFile.omit({ downloadUrl: true })).meta({ description: "Of the brief." }),
    questions: z.array(Question.omit({ taskId: true })).meta({ description: "Newest first." }),
    samples: z.array(FileRecord).optional(),
    deliveries: z.array(DeliveryRecord).optional(),
    agreement: Agreement.optional(),
    dispute: Dispute.optional(),
    ratings: z.array(Rating).optional(),
  }),
  async run({ api, text, context }, input) {
    const { availableActions = [], bids = [], ...found } = await api.tasks.read({ id: input.taskId });
    const task = Task.parse(found.task);
    const buyerReputation = await reputationOf(api, task.buyer.id);
    const { questions } = found.questionCount === 0 ? { questions: [] } : await readQuestions(api, task.id);
    const { files = [] } = found;
    const own = bids.filter(({ bidder }) => bidder.id === context.userId);
    const ownBid = own.find(({ status }) => status === "active" || status === "awarded") ?? own[0];
    const isBidder = ownBid?.status === "awarded";
    const role: z.infer<typeof Role> = task.buyer.id === context.userId ? "buyer" : isBidder ? "bidder" : "visitor";
    const nextTools = toolsFor(availableActions, {
      ...{ bidCount: role === "buyer" ? task.bidCount : 0, checks: task.checks },
      ...found,
    });

    sayTask(text, task);
    sayAgreedChecks(text, task);
    text.say(`Buyer: ${task.buyer.id}, ${text.quote(task.buyer.displayName)}: ${wordsOfBuyer(buyerReputation)}.`);
    if (ownBid) {
      text.say(`Your bid ${ownBid.id}: ${ownBid.status}, ${money(ownBid.priceCents)}, ${ownBid.etaHours} hours.`);
      if (ownBid.taskEditedAt) text.say("The task was changed after you placed that bid: read it again.");
    }
    if (availableActions.includes("bids.place")) sayFee(text, (await api.fees.read()).current);
    for (const { id, bytes, fileName } of files) sayFile(text, "File", { id, bytes, fileName: fileName ?? undefined });
    for (const { id, text: words, answer } of questions) {
      text.say(`Question ${id}${answer === null ? ", unanswered" : ""}:`).sayQuoted("Question", words);
      text.sayQuoted("Answer", answer?.text);
    }
    for (const { id, bytes, fileName } of found.samples ?? []) sayFile(text, "Sample", { id, bytes, fileName });
    for (const { id, bytes, fileName, checks } of found.deliveries ?? []) {
      sayFile(text, "Delivery", { id, bytes, fileName });
      sayVerdicts(text, checks);
    }
    if (found.agreement) {
      const { id, kind, proposedBy, bidderCents, deliveryDueAt, reason } = found.agreement;
      const what = deliveryDueAt === null ? kind : `extend to ${time(deliveryDueAt)}`;
      const share = bidderCents === null ? "" : `, ${money(bidderCents)} to the bidder`;
      text.say(`Pending agreement ${id}: the ${proposedBy} proposes to ${what}${share}.`).sayQuoted("Reason", reason);
    }
    if (found.dispute) {
      const { openedBy, status, resolution, reason } = found.dispute;
      text.say(`Dispute: opened by the ${openedBy}, ${resolution ?? status}.`).sayQuoted("Reason", reason);
    }
    for (const { role: rated, stars, comment } of found.ratings ?? [])
      text.say(`The ${rated} was rated ${stars} of 5.`).sayQuoted("Comment", comment);
    text.next(nextTools.length === 0 ? "nothing to do on this task now." : `${nextTools.join(", ")}.`);
    return {
      ...{ role, nextTools, availableActions, buyerReputation, task, files, questions },
      ...(ownBid && { ownBid }),
      ...(found.samples && { samples: found.samples }),
      ...(found.deliveries && { deliveries: found.deliveries }),
      ...(found.agreement && { agreement: found.agreement }),
      ...(found.dispute && { dispute: found.dispute }),
      ...(found.ratings && { ratings: found.ratings }),
    };
  },
});

const readQuestions = (api: Api, id: string) => api.questions.list({ id, limit: 20 });

function sayTask(text: AnswerText, task: Task): void {
  const deadlines = [
    ["deliver until", task.deliveryDueAt],
    ["accept or dispute until", task.status === "delivered" ? task.acceptanceDeadlineAt : null],
  ].flatMap(([what, at]) => (at ? [`${what} ${time(at)}`] : []));
  const revisions =
    task.revisions === 0 ? [] : [`${count(task.revisions, "round")} of changes, ${task.revisionsUsed} used`];
  text
    .say(
      `Task ${task.id}: ${[task.status, `up to ${money(task.maxBudgetCents)}`, count(task.bidCount, "bid"), ...revisions, ...deadlines].join(", ")}.`,
    )
    .sayQuoted("Title", task.title)
    .sayQuoted("Description", task.description)
    .sayQuoted("Acceptance criteria", task.acceptanceCriteria)
    .sayQuoted("Tags", task.tags.join(", "))
    .sayQuoted("The buyer asks for changes", task.changes?.reason);
}

/** What a bid would cost its bidder. */
function sayFee(text: AnswerText, schedule: FeeSchedule | null): void {
  if (schedule === null) return;
  const { basisPoints, minCents, maxCents } = schedule;
  const limits = [
    ...(minCents > 0 ? [`at least ${money(minCents)}`] : []),
    ...(maxCents === null ? [] : [`at most ${money(maxCents)}`]),
  ];
  text.say(`The bidder pays the platform a fee: ${[`${basisPoints / 100} % of the price`, ...limits].join(", ")}.`);
}

function sayFile(text: AnswerText, kind: string, file: { id: string; bytes: number; fileName?: string | undefined }) {
  const name = file.fileName === undefined ? "" : ` ${text.quote(file.fileName)}`;
  text.say(`${kind} ${file.id}: ${count(file.bytes, "byte")}${name}`);
}
