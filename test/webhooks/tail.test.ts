import { afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Task } from "../../server/schemas/task.ts";
import { sql } from "../../server/store/connection.ts";
import { createTail } from "../../server/webhooks/tail.ts";
import { createPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let task: Task;
beforeAll(async () => {
  task = await postTask(await createPerson(service, { cents: 1_000_000 }));
});
afterEach(() => {
  vi.useRealTimers();
});

/** Records an event, which is committed once `commit` resolves. */
function recordEvent(commit: Promise<void> = Promise.resolve()): Promise<void> {
  return service.services.database.transaction(async (tx) => {
    await tx.events.record("task.created", { task });
    await commit;
  });
}

test("events from before the first call are left out, and an event that commits after younger ones is returned once", async () => {
  const next = createTail(service.services.database, ["task.created"]);
  expect(await next()).toEqual([]);
  const commit = Promise.withResolvers<void>();
  const late = recordEvent(commit.promise);
  await recordEvent();
  expect(await next()).toHaveLength(1);
  commit.resolve();
  await late;
  expect(await next()).toHaveLength(1);
  expect(await next()).toEqual([]);
});

test("events that happened while the listener slept are returned, however long it slept", async () => {
  const { database } = service.services;
  vi.useFakeTimers({ toFake: ["Date"] });
  const next = createTail(database, ["task.created"]);
  await next();
  await recordEvent();
  const idOf = (atMs: number) => `${atMs.toString(16).padStart(12, "0")}-7000-8000-000000000000`;
  await database.query(sql`
    UPDATE events SET id = ${idOf(Date.now() - 55_000)}::uuid WHERE id = (SELECT id FROM events ORDER BY id DESC LIMIT 1)`);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await next()).toHaveLength(1);
});
