import { expect, onTestFinished, test } from "vitest";
import { startWorker } from "../../server/jobs/worker.ts";
import { sql } from "../../server/store/connection.ts";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";
import { startWorkerProcess } from "../setup/workerProcess.ts";

const service = useService();

const lockedJobs = () =>
  service.services.database.query<{ lockedBy: string }>(sql`
    SELECT locked_by AS "lockedBy" FROM graphile_worker.jobs
    WHERE locked_by IS NOT NULL AND task_identifier = 'advancePayout'`);

test("the jobs of a worker that was killed are taken up again within 60 s", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  const { database } = service.services;
  // The processor does not answer, so the worker is killed in the middle of its jobs.
  await control(service, "POST", "faults", { name: "timeout_before", share: 1, call: "POST /v1/transfers" });
  const child = startWorkerProcess(service);
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const exited = new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  await eventually(
    () => database.query(sql`SELECT 1 FROM job_workers`),
    ({ length }) => length === 2, // its jobs and its messages
  );
  for (let count = 0; count < 3; count++) await requestPayout(payee, 1_000);
  // A sweep may have been quicker than one of the jobs, which then had nothing left to do.
  const locked = await eventually(lockedJobs, (jobs) => jobs.length > 0);
  child.kill("SIGKILL");
  expect(await exited).toBe("SIGKILL");
  await control(service, "DELETE", "faults");
  const gone = new Set(locked.map(({ lockedBy }) => lockedBy));

  const worker = await startWorker(service.services, { concurrency: 2 });
  try {
    await eventually(lockedJobs, (jobs) => jobs.every(({ lockedBy }) => !gone.has(lockedBy)));
    const payouts = await eventually(
      async () => (await payee.get("/payouts")).body.payouts,
      (all) => all.every(({ status }: { status: string }) => status === "paid"),
    );
    expect(payouts).toHaveLength(3);
    for (const { id } of payouts) expect(await service.services.processor.findTransfers(id)).toHaveLength(1);
  } finally {
    await worker.stop();
  }
  expect(await database.query(sql`SELECT 1 FROM graphile_worker.jobs WHERE locked_by IS NOT NULL`)).toEqual([]);
});
