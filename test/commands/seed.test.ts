import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

test("the seed, whose passwords everyone knows, does not touch a production database", async () => {
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: "production",
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing",
    SESSION_SECRET: "x".repeat(32),
    STRIPE_SECRET_KEY: "sk_test_x",
    STRIPE_WEBHOOK_SECRET: "whsec_x",
    S3_BUCKET: "x",
    S3_ACCESS_KEY_ID: "x",
    S3_SECRET_ACCESS_KEY: "x",
    PUBLIC_URL: "https://rebid.test",
  };
  const seeding = run(process.execPath, ["server/commands/seed.ts"], { env });
  await expect(seeding).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("NODE_ENV=production") });
});
