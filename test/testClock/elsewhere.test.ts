import { expect, test } from "vitest";
import { readConfig } from "../../server/config.ts";
import { hasTestClock } from "../../server/local/runningServices.ts";
import { rest } from "../setup/client.ts";
import { runScript } from "../setup/commandProcess.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

const external = { DATABASE_URL: "postgresql://rebid@localhost/rebid" };
const stripe = { STRIPE_SECRET_KEY: "sk_test_1", STRIPE_WEBHOOK_SECRET: "whsec_7f3c1f0f5d0b4a0d9a6e7b1c2d3e4f50" };
const production = {
  ...{ ...external, ...stripe, NODE_ENV: "production", PUBLIC_URL: "https://rebid.example" },
  ...{ S3_BUCKET: "rebid", S3_ACCESS_KEY_ID: "id", S3_SECRET_ACCESS_KEY: "key" },
  SESSION_SECRET: "7f3c1f0f5d0b4a0d9a6e7b1c2d3e4f5061728394a5b6c7d8",
};

test.each([
  ["everything embedded", {}, true],
  ["another database", external, false],
  ["another payment processor", stripe, false],
  ["production", production, false],
])("a service with %s: %#", (_name, environment, expected) => {
  expect(hasTestClock(readConfig(environment))).toBe(expected);
});

test.each([
  ["GET", "/test/clock"],
  ["HEAD", "/test/clock"],
  ["POST", "/test/clock"],
  ["PATCH", "/test/clock"],
  ["GET", "/trpc/test.clock?input={}"],
  ["POST", "/trpc/test.advanceClock"],
])("without a test clock, there is no %s %s", async (method, path) => {
  const body = method === "POST" ? { advance: "1h" } : undefined;
  const answer = await rest(service.url, method, path, { body });
  expect(answer.status).toBe(404);
  if (method !== "HEAD") expect((answer.body.error.data ?? answer.body).error).toBe("not_found");
});

test("without a test clock, the document does not mention one", async () => {
  const { text, status } = await rest(service.url, "GET", "/openapi.json");
  expect(status).toBe(200);
  expect(text).not.toMatch(/test\/clock|TestClock|ClockAdvance/);
});

test("in production, the command refuses", async () => {
  const { code, stderr } = await runScript("clock", ["advance", "49h"], production);
  expect([code, stderr]).toEqual([1, "There is no test clock in production.\n"]);
});
