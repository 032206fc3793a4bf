import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { requestPool } from "../../server/store/poolSettings.ts";
import { createPayee } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { type Answer, type Credentials, rest } from "../setup/client.ts";
import { expectError, expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { routeOf, transports } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
/** Another server on the same database: what a key has spent is in the database only, so it stands for another process. */
const second = { url: "", close: async () => {} };
beforeAll(async () => {
  const database = openDatabase(service.databaseUrl, { ...requestPool, poolSize: 6 });
  const server = createServer(createApp({ ...service.services, database }, { trustProxy: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  second.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  second.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await database.close();
  };
});
afterAll(() => second.close());

interface Minted extends Credentials {
  authorization: string;
}
interface Limits {
  expiresAt?: string;
  spendLimit?: { cents: number; per: "day" | "month" | "total" };
}
const scopes = ["task:write", "payouts:write"];
const ask = (person: TestPerson, limits: object) => person.post("/keys", { label: "limited", scopes, ...limits });
async function mint(person: TestPerson, limits: Limits): Promise<{ id: string; credentials: Minted }> {
  const { status, body } = await ask(person, limits);
  expect([status, body]).toEqual([201, expect.anything()]);
  return { id: body.id, credentials: { authorization: `Bearer ${body.raw}` } };
}
const post = (path: string, body: unknown, credentials: Credentials, headers: Record<string, string> = {}) =>
  rest(service.url, "POST", path, { body, credentials, headers });
const postTask = (credentials: Credentials, maxBudgetCents: number) =>
  post("/tasks", taskInput({ maxBudgetCents }), credentials);
const listed = async (person: TestPerson, id: string) =>
  (await person.get("/keys")).body.keys.find((key: { id: string }) => key.id === id);
const spent = async (person: TestPerson, id: string) => (await listed(person, id)).spendLimit.spentCents;
function expectLimit(answer: Answer, limitCents: number, spentCents: number): void {
  expectError(answer, "spend_limit");
  expect(answer.body).toMatchObject({ limitCents, spentCents });
}
const inSeconds = (seconds: number) => new Date(service.clock.now().getTime() + seconds * 1000).toISOString();

test("a key says above which amount it asks its owner, from 0 on", async () => {
  const owner = await createPerson(service);
  const { body } = await owner.post("/keys", { label: "asks", scopes, approval: { aboveCents: 0 } });
  expect(body.approval).toEqual({ aboveCents: 0 });
  expect((await listed(owner, body.id)).approval).toEqual({ aboveCents: 0 });
  for (const approval of [
    { aboveCents: -1 },
    { aboveCents: 1.5 },
    { aboveCents: 2 ** 31 },
    {},
    null,
    { aboveCents: 1, per: "day" },
  ]) {
    expectError(await owner.post("/keys", { label: "asks", scopes, approval }), "invalid_input");
  }
});

test("a key reads its own limits, as its owner does, and a session has none", async () => {
  const person = await createPerson(service, { cents: 10_000 });
  const expiresAt = inSeconds(3_600);
  const { id, credentials } = await mint(person, { expiresAt, spendLimit: { cents: 5_000, per: "total" } });
  expect((await postTask(credentials, 2_000)).status).toBe(201);
  const { auth } = (await rest(service.url, "GET", "/auth/me", { credentials })).body;
  const { lastUsedAt: _, ...key } = await listed(person, id);
  expect(auth).toEqual({ kind: "apiKey", scopes, key, moderator: false });
  expect(auth.key.spendLimit).toEqual({ cents: 5_000, per: "total", spentCents: 2_000 });
  expect((await person.get("/auth/me")).body.auth).not.toHaveProperty("key");
});

describe("a key that expires", () => {
  test("works until that second, then is 401, is no longer listed, and does not count among the 500", async () => {
    const person = await createPerson(service);
    const expiresAt = inSeconds(600);
    const answer = await ask(person, { expiresAt });
    expect(Date.parse(answer.body.expiresAt)).toBe(Date.parse(expiresAt));
    const me = () => post("/tasks", {}, { authorization: `Bearer ${answer.body.raw}` });
    expect((await listed(person, answer.body.id)).expiresAt).toBe(answer.body.expiresAt);
    expectError(await me(), "invalid_input");
    await service.services.database.query(sql`
      INSERT INTO api_keys (user_id, label, scopes, key_hash, last4, expires_at)
      SELECT ${person.id}::uuid, 'agent', '{}', uuid_send(gen_random_uuid()), '0000', ${expiresAt}::timestamptz
      FROM generate_series(1, 498) n`);
    expectError(await ask(person, {}), "limit_reached");
    service.clock.advance(600);
    expectError(await me(), "unauthenticated");
    expect((await person.get("/keys")).body.keys).toHaveLength(1);
    expect((await ask(person, {})).status).toBe(201);
  });

  test("may be created in any time zone, and again with an Idempotency-Key when it has expired since", async () => {
    const person = await createPerson(service);
    const body = { label: "agent", scopes, expiresAt: inSeconds(60).replace("Z", "+00:00") };
    const headers = { "idempotency-key": "a-key-of-a-key" };
    const first = await post("/keys", body, person.session, headers);
    expect(first.body.expiresAt).toBe(body.expiresAt.replace("+00:00", "000Z"));
    service.clock.advance(61);
    const again = await post("/keys", body, person.session, headers);
    expectError(again, "idempotency_conflict");
    expect(again.body.id).toBe(first.body.id);
  });

  test.each([
    ["now", () => inSeconds(0)],
    ["in the past", () => "2020-01-01T00:00:00Z"],
    ["no time", () => "tomorrow"],
    ["a day only", () => "2050-01-01"],
    ["a number", () => 4_102_444_800],
    ["null", () => null],
    ["beyond the years of four digits", () => "9999-12-31T23:59:59-01:00"],
  ])("is refused if it expires %s", async (_name, expiresAt) => {
    const answer = await ask(await createPerson(service), { expiresAt: expiresAt() });
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(["expiresAt"]);
  });
});

test.each([
  ["no period", { cents: 5 }, "spendLimit.per"],
  ["another period", { cents: 5, per: "week" }, "spendLimit.per"],
  ["no amount", { per: "day" }, "spendLimit.cents"],
  ["a negative amount", { cents: -1, per: "day" }, "spendLimit.cents"],
  ["a fraction of a cent", { cents: 1.5, per: "day" }, "spendLimit.cents"],
  ["an amount as text", { cents: "5", per: "day" }, "spendLimit.cents"],
  ["more than 2^31 - 1", { cents: 2 ** 31, per: "day" }, "spendLimit.cents"],
  ["what it has spent", { cents: 5, per: "day", spentCents: 0 }, "spendLimit.spentCents"],
  ["null", null, "spendLimit"],
])("a spend limit with %s is refused", async (_name, spendLimit, path) => {
  const answer = await ask(await createPerson(service), { spendLimit });
  expectError(answer, "invalid_input");
  expect(issuePaths(answer.body)).toEqual([path]);
});

describe.each(transports)("over $transport", ({ call }) => {
  test("new tasks and larger budgets count in full, and what comes back does not reduce the sum", async () => {
    const person = await createPerson(service, { cents: 100_000 });
    const create = routeOf("keys.create");
    const input = { label: "limited", scopes, spendLimit: { cents: 1_000, per: "total" } };
    const { status, body } = await call(service.url, create, input, person.session);
    expect([status, body.spendLimit]).toEqual([201, { cents: 1_000, per: "total", spentCents: 0 }]);
    const key = { authorization: `Bearer ${body.raw}` };
    const change = async (name: string, input: Record<string, unknown>, credentials: Credentials = key) =>
      call(service.url, routeOf(name), input, credentials);
    const { task } = (await change("tasks.create", taskInput({ maxBudgetCents: 600 }))).body;
    expect((await change("tasks.update", { id: task.id, maxBudgetCents: 700 })).status).toBe(200);
    expect((await change("tasks.update", { id: task.id, maxBudgetCents: 100 })).status).toBe(200);
    expect((await change("tasks.update", { id: task.id, maxBudgetCents: 300 })).status).toBe(200);
    expect(await spent(person, body.id)).toBe(900);
    const refused = await change("tasks.update", { id: task.id, maxBudgetCents: 401 });
    expectErrorBody(refused.body, "spend_limit");
    expect([refused.status, refused.body]).toMatchObject([403, { limitCents: 1_000, spentCents: 900 }]);
    expect((await change("tasks.update", { id: task.id, title: "Free of charge" })).status).toBe(200);
    expect((await change("tasks.cancel", { id: task.id })).status).toBe(200);
    expect(await spent(person, body.id)).toBe(900);
    const posted = await change("tasks.create", taskInput({ maxBudgetCents: 101 }));
    expectErrorBody(posted.body, "spend_limit");
    expect((await change("tasks.create", taskInput({ maxBudgetCents: 101 }), person.session)).status).toBe(201);
    expect((await change("tasks.create", taskInput({ maxBudgetCents: 101 }), person.key)).status).toBe(201);
    expect((await change("tasks.create", taskInput({ maxBudgetCents: 100 }))).status).toBe(201);
    expect(await spent(person, body.id)).toBe(1_000);
    expect((await person.get("/wallet")).body).toEqual({ availableCents: 99_698, heldCents: 302 });
  });
});

test("payouts count, and a limit of 0 lets a key spend nothing", async () => {
  const payee = await createPayee(service);
  const { id, credentials } = await mint(payee, { spendLimit: { cents: 2_500, per: "month" } });
  expect((await post("/payouts", { amountCents: 2_000 }, credentials)).status).toBe(202);
  expectLimit(await post("/payouts", { amountCents: 1_000 }, credentials), 2_500, 2_000);
  expect((await postTask(credentials, 500)).status).toBe(201);
  expect(await spent(payee, id)).toBe(2_500);
  expect((await payee.get("/payouts")).body.payouts).toHaveLength(1);
  const nothing = await mint(payee, { spendLimit: { cents: 0, per: "total" } });
  expectLimit(await postTask(nothing.credentials, 1), 0, 0);
});

test("a refusal counts nothing: neither the limit's, nor the wallet's, which comes after it", async () => {
  const person = await createPerson(service, { cents: 500 });
  const { id, credentials } = await mint(person, { spendLimit: { cents: 1_000, per: "day" } });
  expectError(await postTask(credentials, 501), "insufficient_funds");
  expectLimit(await postTask(credentials, 1_001), 1_000, 0);
  expect(await spent(person, id)).toBe(0);
});

test.each([
  ["day", "2027-03-31T23:59:58.000Z", 4, "2027-04-01T00:00:02.000Z"],
  ["month", "2027-05-31T23:59:58.000Z", 4, "2027-06-01T00:00:02.000Z"],
] as const)("a %s ends at midnight UTC", async (per, at, seconds, later) => {
  const until = (time: string) => service.clock.advance((Date.parse(time) - service.clock.now().getTime()) / 1000);
  const day = 86_400;
  until(new Date(Date.parse(at) - (per === "month" ? 10 : 0) * day * 1000).toISOString());
  const person = await createPerson(service, { cents: 100_000 });
  const limited = await mint(person, { spendLimit: { cents: 1_000, per } });
  const ever = await mint(person, { spendLimit: { cents: 1_000, per: "total" } });
  for (const { credentials } of [limited, ever]) expect((await postTask(credentials, 900)).status).toBe(201);
  until(at);
  for (const { credentials } of [limited, ever]) expectLimit(await postTask(credentials, 200), 1_000, 900);
  service.clock.advance(seconds);
  expect(service.clock.now().getTime()).toBeGreaterThanOrEqual(Date.parse(later));
  expect(await spent(person, limited.id)).toBe(0);
  expect((await postTask(limited.credentials, 200)).status).toBe(201);
  expect(await spent(person, limited.id)).toBe(200);
  expectLimit(await postTask(ever.credentials, 200), 1_000, 900);
  // A process whose clock is behind counts in the period that has begun.
  service.clock.advance(-2 * seconds);
  expect((await postTask(limited.credentials, 800)).status).toBe(201);
  expectLimit(await postTask(limited.credentials, 1), 1_000, 1_000);
  service.clock.advance(2 * seconds);
  expectLimit(await postTask(limited.credentials, 1), 1_000, 1_000);
});

test("a repeat with an Idempotency-Key counts once, even when nothing is left; a tried request is judged, not counted", async () => {
  const person = await createPerson(service, { cents: 100_000 });
  const { id, credentials } = await mint(person, { spendLimit: { cents: 1_000, per: "day" } });
  const input = taskInput({ maxBudgetCents: 800 });
  const dryRun = { "dry-run": "true" };
  for (let count = 0; count < 3; count++) expect((await post("/tasks", input, credentials, dryRun)).status).toBe(201);
  expect(await spent(person, id)).toBe(0);
  expectLimit(await post("/tasks", taskInput({ maxBudgetCents: 1_001 }), credentials, dryRun), 1_000, 0);
  const key = { "idempotency-key": "once" };
  const answers = await Promise.all(Array.from({ length: 20 }, () => post("/tasks", input, credentials, key)));
  expect(new Set(answers.map(({ status, body }) => `${status} ${body.task?.id}`)).size).toBe(1);
  expect([answers[0]?.status, await spent(person, id)]).toEqual([201, 800]);
  expectLimit(await post("/tasks", input, credentials, dryRun), 1_000, 800);
});

test("50 parallel tasks of a key, over two servers, spend exactly the limit", async () => {
  const person = await createPerson(service, { cents: 100_000 });
  const { id, credentials } = await mint(person, { spendLimit: { cents: 2_050, per: "day" } });
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => {
      const url = index % 2 === 0 ? service.url : second.url;
      return rest(url, "POST", "/tasks", { body: taskInput({ maxBudgetCents: 100 }), credentials });
    }),
  );
  const refused = answers.filter(({ status }) => status !== 201);
  expect(answers.length - refused.length).toBe(20);
  for (const answer of refused) expectLimit(answer, 2_050, 2_000);
  expect(await spent(person, id)).toBe(2_000);
  expect((await person.get("/wallet")).body.heldCents).toBe(2_000);
  await expectBooksToBalance(service);
});

test("the database refuses a negative sum, and one without a limit", async () => {
  const person = await createPerson(service);
  const { id } = await mint(person, { spendLimit: { cents: 10, per: "day" } });
  const { database } = service.services;
  const set = (cents: number, of: string) =>
    database.query(sql`UPDATE api_keys SET spent_cents = ${cents} WHERE ${of}::uuid IN (id, user_id)`);
  await expect(set(-1, id)).rejects.toThrow("api_keys_spend_limit_check");
  await expect(set(1, person.id)).rejects.toThrow("api_keys_spend_limit_check");
});
