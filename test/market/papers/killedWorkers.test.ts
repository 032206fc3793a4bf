import { expect, test } from "vitest";
import { numberReceipts } from "../../../server/market/papers/receipts.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { countUnnumbered, receiptNumbers } from "../../factories/receipts.ts";
import { deliveredTask } from "../../factories/tasks.ts";
import { eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";
import { startWorkerProcess } from "../../setup/workerProcess.ts";

const service = useService({ worker: true });

test("fifty payments at once, while workers number them and are killed, have numbers without a gap, in the ledger's order", async () => {
  const buyers = await Promise.all(Array.from({ length: 10 }, () => createPerson(service, { cents: 500_000 })));
  const bidder = await createPerson(service);
  const tasks: { buyer: TestPerson; id: string }[] = [];
  for (const buyer of buyers) {
    const made = await Promise.all(Array.from({ length: 5 }, () => deliveredTask(buyer, bidder)));
    tasks.push(...made.map(({ task }) => ({ buyer, id: task.id })));
  }
  await eventually(
    () => countUnnumbered(service),
    (count) => count === 0,
  );
  const before = await receiptNumbers(service);
  const workers = [startWorkerProcess(service), startWorkerProcess(service)];
  const exited = workers.map((child) => new Promise((resolve) => child.once("exit", resolve)));
  await eventually(
    () => service.services.database.query(sql`SELECT FROM job_workers`),
    ({ length }) => length >= 3,
  );
  const accepted = tasks.map(({ buyer, id }) => buyer.post(`/tasks/${id}/accept`));
  const numbering = Array.from({ length: 20 }, () => numberReceipts(service.services));
  await Promise.race(accepted);
  for (const child of workers) child.kill("SIGKILL");
  expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual(Array(50).fill(200));
  await Promise.all([...numbering, ...exited]);
  await eventually(
    () => countUnnumbered(service),
    (count) => count === 0,
  );
  const after = await receiptNumbers(service);
  expect(after.length).toBe(before.length + 50);
  expect(after.map(({ number }) => number)).toEqual(after.map((_, index) => index + 1));
});
