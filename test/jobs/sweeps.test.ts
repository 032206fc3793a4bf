import { expect, test } from "vitest";
import { sweep } from "../../server/jobs/sweeps.ts";
import { findDueDeliveries } from "../../server/market/tasks/acceptDelivery.ts";
import { findOverdueTasks } from "../../server/market/tasks/expireTask.ts";
import { createPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask } from "../factories/tasks.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test("items that always fail do not hide the items after them, however many there are, and are retried", async () => {
  const due = Array.from({ length: 350 }, (_, index) => index);
  const handled = new Set<number>();
  const attempts: number[] = [];
  const round = sweep<number>(
    async (_services, limit, after) =>
      due.filter((item) => !handled.has(item) && (after === null || item > after)).slice(0, limit),
    async (_services, item) => {
      attempts.push(item);
      if (item < 250) throw new Error("always");
      handled.add(item);
    },
  );
  for (let rounds = 0; rounds < 4; rounds++) await round(service.services);
  expect(handled.size).toBe(100);
  for (let rounds = 0; rounds < 2; rounds++) await round(service.services);
  expect(attempts.filter((item) => item === 0)).toHaveLength(2);
  expect(service.errors.splice(0).every((line) => line.includes("a sweep failed to handle an item"))).toBe(true);
});

test.each([
  ["deliveries", deliveredTask, findDueDeliveries],
  ["awarded tasks", awardedTask, findOverdueTasks],
] as const)("due %s are walked by their deadlines, page by page", async (_name, createTask, find) => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const bidder = await createPerson(service);
  const taskIds: string[] = [];
  for (let count = 0; count < 3; count++) taskIds.push((await createTask(buyer, bidder)).task.id);
  const clock = clockOf(() => new Date(Date.now() + 60 * 86_400_000));
  const walked: string[] = [];
  for (let after: { taskId: string } | null = null; ; ) {
    const page: { taskId: string }[] = await find({ ...service.services, clock }, 1, after);
    if (page[0] === undefined) break;
    walked.push(page[0].taskId);
    after = page[0];
  }
  expect(walked).toEqual(taskIds);
});
