import type { Bid, Task, TaskOperation, TaskPage } from "../api/client.ts";

/** Whether this person could do it to the task, or to their own bid on it, at this moment. */
export const can = ({ availableActions = [] }: TaskPage, operation: TaskOperation): boolean =>
  availableActions.includes(operation);

export const awardedBidOf = ({ bids = [] }: TaskPage, task: Task): Bid | undefined =>
  bids.find(({ id }) => id === task.awardedBidId);

/** Whether a report would still count, so that another key can be named for it. */
export const mayNameKey = ({ status, checks }: Task): boolean =>
  ["open", "awarded", "delivered"].includes(status) && checks.some(({ kind }) => kind === "external");
