import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ worker: true, settings: { acceptanceWindowSeconds: 3, deliveryGraceSeconds: 3 } });
const PROMPT_MS = 2_000;

/** How many milliseconds after `dueAt` the task was seen to have left its status; the database's own times are compared. */
async function lateness(taskId: string, status: string): Promise<number> {
  const read = () =>
    service.services.database.query<{ status: string; lateMs: number }>(sql`
      SELECT status, extract(epoch FROM updated_at - closed_at)::float8 * 1000 AS "lateMs"
      FROM tasks WHERE id = ${taskId}::uuid`);
  await expect.poll(async () => (await read())[0]?.status, { interval: 50 }).toBe(status);
  return (await read())[0]?.lateMs ?? Number.NaN;
}

test("with workers running a deadline is kept within two seconds: by its job, and by the sweep if the job is lost", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const bidder = await createPerson(service);
  const { database } = service.services;

  const { task: delivered } = await deliveredTask(buyer, bidder);
  expect(await lateness(delivered.id, "accepted")).toBeLessThan(PROMPT_MS);
  const { task: jobless } = await deliveredTask(buyer, bidder);
  await database.query(sql`SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker._private_jobs`);
  expect(await lateness(jobless.id, "accepted")).toBeLessThan(PROMPT_MS);

  const { task: awarded } = await awardedTask(buyer, bidder);
  // An hour is the shortest estimate that a bid can have: the due time is moved instead.
  await database.query(sql`
    UPDATE tasks SET delivery_due_at = clock_timestamp() WHERE id = ${awarded.id}::uuid`);
  expect(await lateness(awarded.id, "expired")).toBeLessThan(PROMPT_MS);
});
