import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { WithProcessor } from "./testService.ts";

const root = join(import.meta.dirname, "../..");

/** A worker process of its own on a test's backing services, as `ROLE=worker npm start` makes one. */
export function startWorkerProcess({
  databaseUrl,
  processorUrl,
}: WithProcessor & { databaseUrl: string }): ChildProcess {
  const keys = { S3_ENDPOINT: "http://127.0.0.1:9", S3_BUCKET: "b", S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" };
  return spawn(process.execPath, ["server/start/main.ts"], {
    cwd: root,
    stdio: "ignore",
    env: {
      ...{ ...process.env, ...keys, ROLE: "worker", DATABASE_URL: databaseUrl },
      SESSION_SECRET: "a secret of the tests of 32 characters or more",
      STRIPE_SECRET_KEY: "sk_test_tests",
      STRIPE_WEBHOOK_SECRET: "whsec_tests",
      STRIPE_API_BASE: processorUrl,
    },
  });
}
