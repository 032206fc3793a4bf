import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sql } from "../../server/db/connection.ts";
import { startWorker } from "../../server/jobs/worker.ts";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const root = join(import.meta.dirname, "../..");

/** A worker process of its own on the test's parts, as `ROLE=worker npm start` makes one. */
function startWorkerProcess() {
  const keys = { S3_ENDPOINT: "http://127.0.0.1:9", S3_BUCKET: "b", S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" };
  return spawn(process.execPath, ["server/main.ts"], {
    cwd: root,
    stdio: "ignore",
    env: {
      ...{ ...process.env, ...keys, ROLE: "worker", DATABASE_URL: service.databaseUrl },
      SESSION_SECRET: "a secret of the tests, 32 characters or more",
      STRIPE_SECRET_KEY: "sk_test_tests",
      STRIPE_WEBHOOK_SECRET: "whsec_tests",
      STRIPE_API_BASE: service.processorUrl,
    },
  });
}

const lockedJobs = () =>
  service.services.database.query<{ lockedBy: string }>(sql`
    SELECT locked_by AS "lockedBy" FROM graphile_worker.jobs
    WHERE locked_by IS NOT NULL AND task_identifier = 'advancePayout'`);

test("the job of a worker that was killed is taken up again within 60 s", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  // The processor does not answer, so the worker is killed in the middle of its job.
  await control(service, "POST", "faults", { name: "timeout_before", next: 1, call: "POST /v1/transfers" });
  const child = startWorkerProcess();
  const exited = new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  const { database } = service.services;
  await eventually(
    () => database.query(sql`SELECT 1 FROM job_workers`),
    ({ length }) => length === 1,
  );
  await requestPayout(payee, 3_000);
  await eventually(
    () => control<{ faults: { name: string; hits: number }[] }>(service, "GET", "faults"),
    ({ faults }) => faults.some(({ name, hits }) => name === "timeout_before" && hits === 1),
  );
  child.kill("SIGKILL");
  expect(await exited).toBe("SIGKILL");
  const [locked] = await lockedJobs();
  expect(locked).toBeDefined();

  const worker = await startWorker(service.services, { concurrency: 2 });
  try {
    await eventually(lockedJobs, (jobs) => jobs.every(({ lockedBy }) => lockedBy !== locked?.lockedBy), 60_000);
    const [payout] = await eventually(
      async () => (await payee.get("/payouts")).body.payouts,
      ([first]) => first.status === "paid",
    );
    expect(await service.services.processor.findTransfers(payout.id)).toHaveLength(1);
  } finally {
    await worker.stop();
  }
  const left = await service.services.database.query(
    sql`SELECT 1 FROM graphile_worker.jobs WHERE locked_by IS NOT NULL`,
  );
  expect(left).toEqual([]);
}, 120_000);
