import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { disputedTask, disputeReason } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
let environment: Record<string, string>;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
  environment = {
    DATABASE_URL: service.databaseUrl,
    SESSION_SECRET: service.services.settings.sessionSecret,
    ...{ STRIPE_SECRET_KEY: "sk_test_tests", STRIPE_WEBHOOK_SECRET: "whsec_tests" },
    ...{
      S3_ENDPOINT: "http://127.0.0.1:1",
      S3_BUCKET: "rebid",
      S3_ACCESS_KEY_ID: "test",
      S3_SECRET_ACCESS_KEY: "test",
    },
  };
});

/** Runs the command as a person would, and gives what it said and its exit code. */
function moderator(words: string[], env: Record<string, string> = environment) {
  return new Promise<{ code: number; out: string; problems: string }>((done) => {
    const options = { env: { PATH: process.env.PATH, NO_COLOR: "1", ...env } };
    execFile(process.execPath, ["server/commands/moderator.ts", ...words], options, (error, out, problems) =>
      done({ code: typeof error?.code === "number" ? error.code : 0, out, problems }),
    );
  });
}

test("add and remove take effect at once, and say what was so already", async () => {
  const person = await createPerson(service);
  const { dispute } = await disputedTask(buyer, bidder);
  const mayRead = async () => (await person.get(`/disputes/${dispute.id}`)).status === 200;

  expect(await moderator(["add", person.email.toUpperCase()])).toMatchObject({
    code: 0,
    out: expect.stringContaining("is now a moderator"),
  });
  expect(await mayRead()).toBe(true);
  expect((await moderator(["add", person.email])).out).toContain("was a moderator already");
  expect((await moderator(["list"])).out).toContain(person.email);
  expect((await moderator(["remove", person.email])).out).toContain("is now no moderator");
  expect(await mayRead()).toBe(false);
  expect((await moderator(["list", person.email])).out).toContain("is no moderator");
  const unknown = await moderator(["add", "nobody@example.com"]);
  expect([unknown.code, unknown.problems.includes("nobody@example.com")]).toEqual([1, true]);
});

test("disputes shows what a decision needs; resolve moves the money once, by the rules of the API", async () => {
  const { task, dispute } = await disputedTask(buyer, bidder, { priceCents: 900 });
  const shown = await moderator(["disputes"]);
  expect(shown.code).toBe(0);
  for (const part of [dispute.id, task.title, disputeReason, "900 cents", "by the buyer", "delivery  http://"]) {
    expect(shown.out).toContain(part);
  }

  const earned = (await bidder.get("/wallet")).body.availableCents;
  const refused = await moderator(["resolve", dispute.id, "split", "900"]);
  expect([refused.code, refused.problems]).toEqual([1, expect.stringContaining("1 to 899")]);
  const resolved = await moderator(["resolve", dispute.id, "split", "300", "--note", "A third was right."]);
  expect(resolved).toMatchObject({ code: 0, problems: "" });
  expect(resolved.out).toMatch(/returned to the buyer +600 cents\n.*paid to the bidder +300 cents/);
  expect((await bidder.get("/wallet")).body.availableCents).toBe(earned + 300);
  expect((await buyer.get(`/disputes/${dispute.id}`)).body.dispute).toMatchObject({
    resolution: "split",
    buyerCents: 600,
    bidderCents: 300,
    note: "A third was right.",
  });
  const again = await moderator(["resolve", dispute.id, "refund"]);
  expect([again.code, again.problems.trim()]).toEqual([1, "The task is resolved; this needs it to be disputed."]);
  expect((await moderator(["resolve", crypto.randomUUID(), "refund"])).code).toBe(1);
});

test("the command line and a moderator's session at once decide a dispute once", async () => {
  const person = await createModerator(service);
  const { dispute } = await disputedTask(buyer, bidder);
  const [byCommand, bySession] = await Promise.all([
    moderator(["resolve", dispute.id, "refund"]),
    // The command takes a moment to start: the session asks again until the dispute is decided.
    expect
      .poll(async () => (await person.post(`/disputes/${dispute.id}/resolve`, { resolution: "release" })).status, {
        timeout: 10_000,
      })
      .toBe(409)
      .then(async () => (await person.get(`/disputes/${dispute.id}`)).body.dispute.resolution),
  ]);
  expect([byCommand.code, bySession]).toEqual(bySession === "refund" ? [0, "refund"] : [1, "release"]);
});

test.each([
  [[]],
  [["promote"]],
  [["add"]],
  [["add", "not an address"]],
  [["disputes", "now"]],
  [["resolve"]],
  [["resolve", "x", "refund"]],
  [["resolve", "019a0000-0000-7000-8000-000000000000", "keep"]],
  [["resolve", "019a0000-0000-7000-8000-000000000000", "split", "1.5"]],
  [["resolve", "019a0000-0000-7000-8000-000000000000", "refund", "--note"]],
])("%j is not understood: exit code 2 and the usage, without a running service", async (words) => {
  const answer = await moderator(words, { DATA_DIR: "/nowhere" });
  expect([answer.code, answer.out]).toEqual([2, ""]);
  expect(answer.problems).toContain("npm run moderator -- resolve ID");
});

test("it works beside a service that runs on its embedded database, and says so when none runs", async () => {
  const directory = await mkdtemp(join(tmpdir(), "rebid-moderator-"));
  const env = { DATA_DIR: directory, PORT: "0" };
  const notRunning = await moderator(["list"], env);
  expect([notRunning.code, notRunning.problems]).toEqual([1, expect.stringContaining("npm start")]);
  const running = spawn(process.execPath, ["server/start/main.ts"], { env: { PATH: process.env.PATH, ...env } });
  try {
    await ready(running);
    expect(await moderator(["list"], env)).toEqual({ code: 0, out: "There are no moderators.\n", problems: "" });
  } finally {
    running.kill("SIGTERM");
    await once(running, "exit");
    await rm(directory, { recursive: true, force: true });
  }
});

async function ready(child: ChildProcess): Promise<void> {
  for await (const chunk of child.stdout ?? []) if (String(chunk).includes("Rebid is ready")) return;
  throw new Error("the service ended before it was ready");
}
