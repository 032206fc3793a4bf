import { beforeAll, expect, test } from "vitest";
import { command } from "../../server/commands/moderator.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { setUpTotp, signIn } from "../factories/secondFactors.ts";
import { disputedTask, disputeReason } from "../factories/tasks.ts";
import { operatorSettings, runHere, runScript } from "../setup/commandProcess.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { useService } from "../setup/testService.ts";

const { start, preparedDirectory } = useProcesses();
const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});

const moderator = (words: string[]) => runHere(command, words, operatorSettings(service));

test("add and remove take effect at once, and say when nothing had to change", async () => {
  const person = await createPerson(service);
  const { dispute } = await disputedTask(buyer, bidder);
  const mayRead = async () => (await person.get(`/disputes/${dispute.id}`)).status === 200;

  expect(await moderator(["add", person.email.toUpperCase()])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("is now a moderator"),
  });
  expect(await mayRead()).toBe(true);
  expect((await moderator(["add", person.email])).stdout).toContain("was already a moderator");
  expect((await moderator(["list"])).stdout).toContain(person.email);
  expect((await moderator(["remove", person.email])).stdout).toContain("is no longer a moderator");
  expect(await mayRead()).toBe(false);
  expect((await moderator(["list", person.email])).stdout).toContain("is not a moderator");
  const unknown = await moderator(["add", "nobody@example.com"]);
  expect([unknown.code, unknown.stderr.includes("nobody@example.com")]).toEqual([1, true]);
});

test("users are found, suspended, reinstated and freed of a lost second factor, by the rules of the API, and it is recorded", async () => {
  const person = await createPerson(service);
  await setUpTotp(service, person);
  expect((await moderator(["users", person.email.slice(0, -4)])).stdout).toContain(`${person.email}>`);
  const suspend = ["suspend", person.email, "--reason", "Spam."];
  expect((await moderator(suspend.slice(0, 2))).code).toBe(2);
  expect((await moderator(suspend)).stdout).toContain("is now suspended");
  expect((await person.get("/auth/me")).status).toBe(401);
  expect((await moderator(suspend)).stdout).toContain("was already suspended");
  expect((await moderator(["reinstate", person.email])).stdout).toContain("is no longer suspended");
  expect((await moderator(["remove-totp", person.email])).stdout).toContain("no longer has a second factor");
  expect((await signIn(service, person)).answer.status).toBe(200);
  await moderator(["add", person.email]);
  const refused = await moderator(suspend);
  expect([refused.code, refused.stderr.includes("moderator -- remove")]).toEqual([1, true]);

  const reader = await createModerator(service);
  const { actions } = (await reader.get("/moderation/actions")).body;
  const about = actions.filter(({ user }: { user: { id: string } | null }) => user?.id === person.id);
  expect(about.map(({ action, moderator: by }: { action: string; moderator: null }) => [action, by])).toEqual([
    ["add_moderator", null],
    ["remove_second_factor", null],
    ["reinstate_user", null],
    ["suspend_user", null],
  ]);
});

test("disputes shows what a decision needs; resolve moves the money once, by the rules of the API", async () => {
  const { task, dispute } = await disputedTask(buyer, bidder, { priceCents: 900 });
  const shown = await moderator(["disputes"]);
  expect(shown.code).toBe(0);
  for (const part of [dispute.id, task.title, disputeReason, "900 cents", "by the buyer", "delivery  http://"]) {
    expect(shown.stdout).toContain(part);
  }

  const earned = (await bidder.get("/wallet")).body.availableCents;
  const refused = await moderator(["resolve", dispute.id, "split", "900"]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("1 to 899")]);
  const resolved = await moderator(["resolve", dispute.id, "split", "300", "--note", "A third was right."]);
  expect(resolved).toMatchObject({ code: 0, stderr: "" });
  expect(resolved.stdout).toMatch(/returned to the buyer +600 cents\n.*paid to the bidder +300 cents/);
  expect((await bidder.get("/wallet")).body.availableCents).toBe(earned + 300);
  expect((await buyer.get(`/disputes/${dispute.id}`)).body.dispute).toMatchObject({
    resolution: "split",
    buyerCents: 600,
    bidderCents: 300,
    note: "A third was right.",
  });
  const again = await moderator(["resolve", dispute.id, "refund"]);
  expect([again.code, again.stderr.trim()]).toEqual([1, "The task is resolved; it must be disputed for this."]);
  expect((await moderator(["resolve", crypto.randomUUID(), "refund"])).code).toBe(1);
});

test("a dispute is resolved once, even if the command line and a moderator's session decide at the same time", async () => {
  const person = await createModerator(service);
  const { dispute } = await disputedTask(buyer, bidder);
  const [byCommand, bySession] = await Promise.all([
    moderator(["resolve", dispute.id, "refund"]),
    // The command takes a moment to start: the session asks again until the dispute is decided.
    expect
      .poll(async () => (await person.post(`/disputes/${dispute.id}/resolve`, { resolution: "release" })).status)
      .toBe(409)
      .then(async () => (await person.get(`/disputes/${dispute.id}`)).body.dispute.resolution),
  ]);
  expect([byCommand.code, bySession]).toEqual(bySession === "refund" ? [0, "refund"] : [1, "release"]);
});

test("it works beside a service that runs on its embedded database, and says so when none runs", async () => {
  const env = { DATA_DIR: await preparedDirectory() };
  const notRunning = await runScript("moderator", ["list"], env);
  expect([notRunning.code, notRunning.stderr]).toEqual([1, expect.stringContaining("npm start")]);
  await (await start(env)).ready();
  const running = await runScript("moderator", ["list"], env);
  expect(running).toEqual({ code: 0, stdout: "There are no moderators.\n", stderr: "" });
});

test("a database that cannot be reached is reported in one line", async () => {
  const settings = { ...operatorSettings(service), DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing" };
  const { code, stdout, stderr } = await runScript("moderator", ["list"], settings);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^The database cannot be reached: .*127\.0\.0\.1:1\n$/);
});
