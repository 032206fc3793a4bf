import { nextStatuses } from "./generated/taskStatuses.ts";
import type { EventPage, LogEventType, ReadTaskResponse, Task, TaskStatus } from "./generated/types.ts";
import type { RequestOptions } from "./options.ts";
import type { Requests } from "./requests.ts";

/** The task can no longer have any of the statuses that were waited for. `task` is what it is now. */
export class TaskStatusError extends Error {
  override readonly name = "TaskStatusError";
  readonly task: ReadTaskResponse["task"];

  constructor(task: ReadTaskResponse["task"], statuses: readonly TaskStatus[]) {
    super(`The task is ${task.status}, so it will not become ${statuses.join(" or ")}.`);
    this.task = task;
  }
}

/** The events after which a task's status is another one. Those of new tasks, which everyone gets, are not among them. */
const types: readonly LogEventType[] = [
  "task.awarded",
  "delivery.posted",
  "task.changes_requested",
  "task.changes_declined",
  "task.accepted",
  "task.disputed",
  "task.dispute_resolved",
  "task.settled",
  "task.cancelled",
  "task.expired",
];

/** How long one request waits for an event, in seconds. The task is read again after it, whether there was one or not. */
const WAIT_SECONDS = 25;

/**
 * Waits until a task has one of the statuses. The event log says when to look; the task itself, which is read again at least
 * every 25 seconds, says whether to go on.
 */
export async function waitForStatus(
  requests: Requests,
  id: string,
  statuses: readonly TaskStatus[],
  options: RequestOptions,
): Promise<Task> {
  if (statuses.length === 0) throw new TypeError("`statuses` must name at least one status.");
  const readEvents = (after: string, wait: number) =>
    requests.readWaiting<EventPage>(wait, "/events", { after, wait, types: types.join(",") }, options);
  // The cursor is from before the first look, so that nothing falls between the two.
  let after = (await readEvents("latest", 0)).nextCursor;
  for (;;) {
    const { task } = await requests.read<ReadTaskResponse>("/tasks/{id}", { id }, options);
    if (statuses.includes(task.status)) return task as Task; // the log has let us in, so we are signed in and see all of it
    if (!canBecome(task.status, statuses)) throw new TaskStatusError(task, statuses);
    for (let concerns = false; !concerns; ) {
      const { events, nextCursor } = await readEvents(after, WAIT_SECONDS);
      after = nextCursor;
      concerns = events.length === 0 || events.some(({ data }) => "task" in data && data.task.id === id);
    }
  }
}

/** Whether a task with this status can still come to have one of the others. */
function canBecome(status: TaskStatus, statuses: readonly TaskStatus[], seen: readonly TaskStatus[] = []): boolean {
  return nextStatuses[status].some(
    (next) => statuses.includes(next) || (!seen.includes(next) && canBecome(next, statuses, [...seen, next])),
  );
}
