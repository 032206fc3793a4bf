import { z } from "zod";
import { taskInput } from "../../schemas/task.ts";
import { money } from "../text.ts";
import { moneyTool } from "../tool.ts";
import { changedChecksInput, checksInput, wordsOfAcceptance } from "./checks.ts";
import { TaskState, taskId } from "./getTask.ts";

const fields = {
  title: taskInput.title,
  description: taskInput.description.meta({ description: "What to do, with everything a bidder must know." }),
  acceptanceCriteria: taskInput.acceptanceCriteria
    .optional()
    .meta({ description: "When you will accept the delivery." }),
  maxBudgetCents: taskInput.maxBudgetCents,
  tags: taskInput.tags,
  revisions: taskInput.revisions,
  ...checksInput,
} as const;

const output = z.object({ task: TaskState });

export const postTask = moneyTool({
  name: "post_task",
  title: "Post a task",
  description:
    "Posts a task that others bid on. Its whole maximum budget is held in your wallet until you award or cancel the task. " +
    "First returns a preview and a token; call again with the token as `confirm` to post it.",
  procedures: ["tasks.create", "wallet.read"],
  kind: "money",
  input: z.strictObject({ ...fields, revisions: fields.revisions.default(0) }),
  output,
  async preview({ api, text }, input, rehearse) {
    const { availableCents } = await api.wallet.read();
    const { task } = await rehearse.tasks.create(input);
    const heldCents = task.maxBudgetCents;
    text
      .say(
        `This would post a task, and hold ${money(heldCents)} of the ${money(availableCents)} that you have available.`,
      )
      .sayQuoted("Title", task.title);
    if (task.acceptOnChecks) text.say(wordsOfAcceptance(task.acceptOnChecks));
    return { heldCents };
  },
  async act({ keyed, text }, input) {
    const { task } = await keyed.tasks.create(input);
    text
      .say(`Posted as task ${task.id}. ${money(task.maxBudgetCents)} are held.`)
      .next("wait_for_events with types bid.received, then compare_bids and award_task.");
    return { task };
  },
});

export const changeTask = moneyTool({
  name: "change_task",
  title: "Change a task",
  description:
    "Changes your open task; name at least one field. Bidders see the change. A new maxBudgetCents moves the difference " +
    "between your held and available money, and is possible only while there is no active bid. It, checks and " +
    "acceptOnChecks come with a preview first, to be confirmed with `confirm`.",
  procedures: ["tasks.update", "tasks.read"],
  kind: "money",
  input: z.strictObject({
    taskId,
    title: fields.title.optional(),
    description: fields.description.optional(),
    acceptanceCriteria: fields.acceptanceCriteria,
    maxBudgetCents: fields.maxBudgetCents.optional(),
    tags: fields.tags.optional(),
    revisions: fields.revisions.optional(),
    ...changedChecksInput,
  }),
  output,
  movesMoney: ({ maxBudgetCents, checks, acceptOnChecks }) =>
    [maxBudgetCents, checks, acceptOnChecks ?? undefined].some((value) => value !== undefined),
  async preview({ api, text }, { taskId: id, ...changes }, rehearse) {
    const { task: before } = await api.tasks.read({ id });
    const { task } = await rehearse.tasks.update({ id, ...changes });
    const differenceCents = task.maxBudgetCents - before.maxBudgetCents;
    const movement =
      differenceCents < 0
        ? `${money(-differenceCents)} would return to your available money`
        : `${money(differenceCents)} more would be held`;
    text.say(`The budget of task ${id} would be ${money(task.maxBudgetCents)}: ${movement}.`);
    if (task.acceptOnChecks) text.say(wordsOfAcceptance(task.acceptOnChecks));
    return { maxBudgetCents: task.maxBudgetCents, differenceCents };
  },
  async act({ keyed, text }, { taskId: id, ...changes }) {
    const { task } = await keyed.tasks.update({ id, ...changes });
    text.say(`Changed task ${id}. Its maximum budget is ${money(task.maxBudgetCents)}.`);
    return { task };
  },
});

export const cancelTask = moneyTool({
  name: "cancel_task",
  title: "Cancel a task",
  description:
    "Cancels your open task for good: the held money returns to you, and all bids are rejected. First returns a preview and " +
    "a token; call again with the token as `confirm`.",
  procedures: ["tasks.cancel"],
  kind: "money",
  isDestructive: true,
  input: z.strictObject({ taskId }),
  output,
  async preview({ text }, { taskId: id }, rehearse) {
    const { task } = await rehearse.tasks.cancel({ id });
    const returnedCents = task.maxBudgetCents;
    text
      .say(
        `This would cancel task ${id}, reject its bids (${task.bidCount}), and return ${money(returnedCents)} to your available money.`,
      )
      .sayQuoted("Title", task.title);
    return { returnedCents };
  },
  async act({ keyed, text }, { taskId: id }) {
    const { task } = await keyed.tasks.cancel({ id });
    text.say(`Cancelled task ${id}. ${money(task.maxBudgetCents)} are available again.`);
    return { task };
  },
});
