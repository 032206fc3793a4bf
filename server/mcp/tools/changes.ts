import { z } from "zod";
import { changesInput, declineReason } from "../../schemas/round.ts";
import { time } from "../text.ts";
import { plainTool } from "../tool.ts";
import { TaskState, taskId } from "./getTask.ts";

export const requestChanges = plainTool({
  name: "request_changes",
  title: "Ask for changes",
  description:
    "Asks the bidder to change the delivery of your task, as often as its `revisions` allow, before the acceptance deadline. No " +
    "money moves. The bidder delivers again or declines; if nothing comes in time, the earlier delivery stands again, and you can " +
    "accept or dispute it. Say what is missing, measured by what was agreed on.",
  procedures: ["tasks.requestChanges"],
  kind: "change",
  input: z.strictObject({ taskId, reason: changesInput.reason, hours: changesInput.hours }),
  output: z.object({ task: TaskState }),
  async run({ keyed, text }, { taskId: id, ...input }) {
    const { task } = await keyed.tasks.requestChanges({ id, ...input });
    const due = task.deliveryDueAt === null ? "" : ` They are due ${time(task.deliveryDueAt)}.`;
    text
      .say(`Asked for changes to the delivery of task ${id}, round ${task.revisionsUsed} of ${task.revisions}.${due}`)
      .next("wait_for_events with types delivery.posted,task.changes_declined, then read_delivery.");
    return { task };
  },
});

export const declineChanges = plainTool({
  name: "decline_changes",
  title: "Decline changes",
  description:
    "Declines the changes that the buyer asks for, if your delivery is what was agreed on: it stands as it is, and the buyer has a " +
    "new window to accept or dispute it. Without either, you are paid at its end. To change it instead, use deliver.",
  procedures: ["tasks.declineChanges"],
  kind: "change",
  input: z.strictObject({ taskId, reason: declineReason }),
  output: z.object({ task: TaskState }),
  async run({ keyed, text }, { taskId: id, reason }) {
    const { task } = await keyed.tasks.declineChanges({ id, reason });
    const deadline =
      task.acceptanceDeadlineAt === null ? "" : `, or ${time(task.acceptanceDeadlineAt)} without a dispute`;
    text
      .say(`Declined the changes to the delivery of task ${id}. You are paid when the buyer accepts${deadline}.`)
      .next("wait_for_events with types task.accepted,task.changes_requested,task.disputed.");
    return { task };
  },
});
