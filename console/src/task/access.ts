import type { Bid, Task, TaskOperation, TaskPage } from "../api/client.ts";

/** Whether this person could do it to the task, or to their own bid on it, at this moment. */
export const can = ({ availableActions = [] }: TaskPage, operation: TaskOperation): boolean =>
  availableActions.includes(operation);

export const awardedBidOf = ({ bids = [] }: TaskPage, task: Task): Bid | undefined =>
  bids.find(({ id }) => id === task.awardedBidId);
