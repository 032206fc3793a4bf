import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { eventually, startReceiver } from "./receiver.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });
const workers = new Set<ChildProcess>();
afterEach(() => {
  for (const worker of workers) worker.kill("SIGKILL");
});

async function startWorker(): Promise<void> {
  const script = join(import.meta.dirname, "workerProcess.ts");
  const worker = spawn(process.execPath, [script, service.databaseUrl], { stdio: ["ignore", "pipe", "inherit"] });
  workers.add(worker);
  if (worker.stdout) await once(worker.stdout, "data");
}

async function kill(worker: ChildProcess | undefined): Promise<void> {
  if (worker === undefined) return;
  workers.delete(worker);
  const exited = once(worker, "exit");
  worker.kill("SIGKILL");
  await exited;
}

const ENDPOINTS = 5;
const EVENTS = 400;

test("while workers are killed at random under load, every event reaches every endpoint, duplicates have the same id and bytes, and none is invented", async () => {
  let open = 0;
  const receiver = await startReceiver((_request, count) => (response) => {
    open++;
    // Some fail the first time; all take a while, so that a kill finds requests under way.
    setTimeout(() => {
      open--;
      response.writeHead(count % 50 === 0 ? 503 : 200).end();
    }, 30);
  });
  const owner = await createPerson(service, { cents: 1_000_000 });
  for (let index = 0; index < ENDPOINTS; index++) {
    await owner.post("/webhooks", { url: `${receiver.url}/${index}`, events: ["task.awarded"] });
  }
  const task = await postTask(owner);
  const bid = await placeBid(await createPerson(service), task.id);
  const { database } = service.services;
  const record = (rollBack: boolean) =>
    database
      .transaction(async (tx) => {
        tx.events.record("task.awarded", { task, bid }, [task.buyer.id]);
        if (rollBack) throw new Error("rolled back");
      })
      .catch((error: Error) => expect(error.message).toBe("rolled back"));
  await startWorker();
  await startWorker();

  let killedAtWork = 0;
  const killing = (async () => {
    for (let round = 0; round < 6; round++) {
      await eventually("requests under way", () => open > 0);
      // Every other round kills all workers, so that no live one still holds what was under way.
      const victims = round % 2 === 0 ? [...workers] : [...workers].slice(0, 1);
      await Promise.all(victims.map(kill));
      killedAtWork++;
      await Promise.all(victims.map(startWorker));
    }
  })();
  for (let event = 0; event < EVENTS; event++) {
    await record(false);
    if (event % 10 === 0) await record(true);
  }
  await killing;

  const recorded = await database.prisma.event.findMany({ where: { type: "task.awarded" }, select: { id: true } });
  const ids = new Set(recorded.map(({ id }) => id));
  expect(ids.size).toBe(EVENTS);
  const idsAt = (index: number) => new Set(receiver.at(`/${index}`).map(({ event }) => event.id));
  await eventually("every event at every endpoint", () =>
    Array.from({ length: ENDPOINTS }, (_, index) => idsAt(index).size).every((size) => size >= EVENTS),
  );

  for (let index = 0; index < ENDPOINTS; index++) expect(idsAt(index)).toEqual(ids);
  for (const id of ids) {
    const bodies = receiver.received.filter(({ event }) => event.id === id).map(({ body }) => body.toString());
    expect(new Set(bodies).size).toBe(1);
  }
  expect(killedAtWork).toBe(6);
  expect(receiver.received.length, "some were sent twice, or the kills hit nothing").toBeGreaterThan(
    ENDPOINTS * EVENTS,
  );
  await eventually("all deliveries are recorded as succeeded", async () => {
    const left = await database.prisma.webhookDelivery.count({ where: { status: { not: "succeeded" } } });
    return left === 0;
  });
  await Promise.all([...workers].map(kill));
  await receiver.stop();
});
