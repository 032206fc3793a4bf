import { beforeAll, describe, expect, test } from "vitest";
import { pruneKeptAnswers } from "../../server/repeats/keptAnswers.ts";
import { sql } from "../../server/store/connection.ts";
import { createPayee } from "../factories/payouts.ts";
import { createKey, createPerson, fund, type TestPerson } from "../factories/people.ts";
import { awardedTask, placeBid, postTask, taskInput, upload } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError, expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { routeOf, transports } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;
let other: TestPerson;
beforeAll(async () => {
  [person, other] = await Promise.all([
    createPerson(service, { cents: 1_000_000 }),
    createPerson(service, { cents: 1_000_000 }),
  ]);
});

let count = 0;
const newKey = () => `key-${++count}`;
const send = (by: TestPerson, path: string, body: unknown, key: string, credentials = by.session) =>
  rest(service.url, "POST", path, { body, credentials, headers: { "idempotency-key": key } });
const tasksOf = async (by: TestPerson): Promise<number> => {
  const [row] = await service.services.database.query<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM tasks WHERE buyer_id = ${by.id}::uuid`,
  );
  return row?.count ?? 0;
};

describe.each(transports)("over $transport", ({ call }) => {
  const create = routeOf("tasks.create");

  test.each([
    ["empty", ""],
    ["with a space", "two words"],
    ["with a letter outside ASCII", "caf\u00e9"],
    ["of 256 characters", "k".repeat(256)],
  ])("a key that is %s is refused and nothing is done", async (_name, key) => {
    const before = await tasksOf(person);
    const headers = { ...person.session, "idempotency-key": key };
    const { status, body } = await call(service.url, create, taskInput(), headers);
    expectErrorBody(body, "invalid_input");
    expect([status, issuePaths(body)]).toEqual([400, ["Idempotency-Key"]]);
    expect(await tasksOf(person)).toBe(before);
  });

  test("a key of 255 visible characters is fine, and reads ignore whatever is sent", async () => {
    const headers = { ...person.session, "idempotency-key": `!~${newKey()}`.padEnd(255, "x") };
    const input = taskInput();
    const first = await call(service.url, create, input, headers);
    const again = await call(service.url, create, input, headers);
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
    const read = await call(service.url, routeOf("wallet.read"), {}, { ...headers, "idempotency-key": "two words" });
    expect([read.status, read.headers.get("idempotent-replayed")]).toEqual([200, null]);
  });

  test("the same key with other input or another operation is a conflict; for another user it is another key", async () => {
    const key = { "idempotency-key": newKey() };
    const input = taskInput();
    const first = await call(service.url, create, input, { ...person.session, ...key });
    const { id } = first.body.task;
    for (const [route, changed] of [
      [create, { ...input, maxBudgetCents: 10_001 }],
      [routeOf("tasks.cancel"), { id }],
      [routeOf("payouts.onboarding"), {}],
    ] as const) {
      const { status, body } = await call(service.url, route, changed, { ...person.session, ...key });
      expectErrorBody(body, "idempotency_conflict");
      expect(status).toBe(409);
    }
    expect((await person.get(`/tasks/${id}`)).body.task.status).toBe("open");
    const others = await call(service.url, create, input, { ...other.session, ...key });
    expect(others.status).toBe(201);
    expect(others.body.task.id).not.toBe(id);
    expect(others.headers.get("idempotent-replayed")).toBeNull();
  });
});

test("a batch of several calls takes no key, and a batch of one does", async () => {
  const before = await tasksOf(person);
  const key = { "idempotency-key": newKey() };
  const batch = (calls: number) => {
    const inputs = Object.fromEntries(Array.from({ length: calls }, (_, index) => [index, taskInput()]));
    const path = `/trpc/${Array(calls).fill("tasks.create").join(",")}?batch=1`;
    return rest(service.url, "POST", path, { body: inputs, credentials: person.session, headers: key });
  };
  const { body } = await batch(2);
  expect(body).toHaveLength(2);
  for (const { error } of body) {
    expectErrorBody(error.data, "invalid_input");
    expect(issuePaths(error.data)).toEqual(["Idempotency-Key"]);
  }
  expect((await batch(1)).status).toBe(200);
  expect(await tasksOf(person)).toBe(before + 1);
});

test("a repeat is answered only to who may still ask: with the scope, and with a living key", async () => {
  const key = newKey();
  const input = taskInput();
  expect((await send(person, "/tasks", input, key, person.key)).status).toBe(201);
  const withoutScope = await createKey(service.url, person.session, ["bid:write"]);
  expectError(await send(person, "/tasks", input, key, withoutScope), "missing_scope");
  expectError(await send(person, "/tasks", input, key, {}), "unauthenticated");
});

test("signing up, in and out ignore the header", async () => {
  const { email, password, session } = await createPerson(service);
  const headers = { "idempotency-key": "two words" };
  expect((await rest(service.url, "POST", "/auth/login", { body: { email, password }, headers })).status).toBe(200);
  expect((await rest(service.url, "POST", "/auth/logout", { credentials: session, headers })).status).toBe(204);
});

describe("a refused request leaves its key free", () => {
  test("a task without the money for it", async () => {
    const poor = await createPerson(service);
    const [key, input] = [newKey(), taskInput()];
    expectError(await send(poor, "/tasks", input, key), "insufficient_funds");
    await fund(service, poor.id, 10_000);
    const accepted = await send(poor, "/tasks", input, key);
    expect([accepted.status, accepted.headers.get("idempotent-replayed")]).toEqual([201, null]);
    const another = taskInput({ title: "Another one" });
    expectError(await send(poor, "/tasks", another, newKey()), "insufficient_funds");
  });

  test("a payout before its onboarding", async () => {
    const payee = await createPayee(service);
    const { database } = service.services;
    await database.query(
      sql`UPDATE payout_accounts SET account_id = NULL, active = false WHERE user_id = ${payee.id}::uuid`,
    );
    const key = newKey();
    expectError(await send(payee, "/payouts", { amountCents: 2_000 }, key), "onboarding_required");
    await database.query(sql`
      UPDATE payout_accounts SET account_id = ${payee.accountId}, active = true WHERE user_id = ${payee.id}::uuid`);
    const first = await send(payee, "/payouts", { amountCents: 2_000 }, key);
    const again = await send(payee, "/payouts", { amountCents: 2_000 }, key);
    expect([first.status, again.status, again.body]).toEqual([202, 202, first.body]);
    expect((await payee.get("/payouts")).body.payouts).toHaveLength(1);
  });

  test("a delivery whose bytes are missing", async () => {
    const { bid } = await awardedTask(person, other);
    const init = await other.post(`/bids/${bid.id}/delivery/init`, { mimeType: "text/plain", bytes: 5 });
    const { uploadUrl, storageKey } = init.body;
    const key = newKey();
    const path = `/bids/${bid.id}/delivery/finalize`;
    expectError(await send(other, path, { storageKey }, key), "invalid_input");
    await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/plain" }, body: "hello" });
    const first = await send(other, path, { storageKey }, key);
    expect(first.status).toBe(201);
    const again = await send(other, path, { storageKey }, key);
    expect([again.status, again.body.delivery.id]).toEqual([201, first.body.delivery.id]);
    expect(await (await fetch(again.body.delivery.downloadUrl)).text()).toBe("hello");
  });
});

test("a repeat gets the first answer, whatever has happened since", async () => {
  const [key, input] = [newKey(), taskInput()];
  const first = await send(person, "/tasks", input, key);
  const { id } = first.body.task;
  const bid = await placeBid(other, id);
  await person.post(`/tasks/${id}/award`, { bidId: bid.id });
  const again = await send(person, "/tasks", input, key);
  expect([again.status, again.body]).toEqual([201, first.body]);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(first.headers.get("idempotent-replayed")).toBeNull();
});

test("a repeated upload step signs its address anew, and the address works", async () => {
  const { bid } = await awardedTask(person, other);
  const key = newKey();
  const upload = { mimeType: "text/plain", bytes: 5 };
  const path = `/bids/${bid.id}/sample/init`;
  const first = await send(other, path, upload, key);
  const again = await send(other, path, upload, key);
  expect(again.body.storageKey).toBe(first.body.storageKey);
  const put = await fetch(again.body.uploadUrl, {
    method: "PUT",
    headers: { "content-type": "text/plain" },
    body: "hello",
  });
  expect(put.status).toBe(200);
});

test("an answer is kept for 24 hours, then pruned; its key is free even before that", async () => {
  const { database } = service.services;
  const [key, input] = [newKey(), taskInput()];
  const first = await send(person, "/tasks", input, key);
  const keptUntil = async () => {
    const rows = await database.query<{ hours: number }>(sql`
      SELECT round(extract(epoch FROM expires_at - clock_timestamp()) / 3600)::int AS hours
      FROM idempotency_keys WHERE user_id = ${person.id}::uuid AND key = ${key}`);
    return rows.map(({ hours }) => hours);
  };
  const expire = () =>
    database.query(sql`
      UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 second'
      WHERE user_id = ${person.id}::uuid AND key = ${key}`);
  expect(await keptUntil()).toEqual([24]);
  await expire();
  const second = await send(person, "/tasks", input, key);
  expect(second.status).toBe(201);
  expect(second.body.task.id).not.toBe(first.body.task.id);
  expect(await keptUntil()).toEqual([24]);
  await expire();
  await pruneKeptAnswers(service.services);
  expect(await keptUntil()).toEqual([]);
});

test("an expired top-up is another top-up", async () => {
  const key = newKey();
  const first = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
  await service.services.database.query(sql`
    UPDATE idempotency_keys SET expires_at = clock_timestamp() WHERE user_id = ${person.id}::uuid AND key = ${key}`);
  const second = await send(person, "/wallet/topup", { amountCents: 5_000 }, key);
  expect(second.status).toBe(200);
  expect(second.body.sessionId).not.toBe(first.body.sessionId);
});

test("an award with a key and the wrong price can be repeated with the right one under a new key", async () => {
  const task = await postTask(person);
  const bid = await placeBid(other, task.id);
  const path = `/tasks/${task.id}/award`;
  const key = newKey();
  expectError(await send(person, path, { bidId: bid.id, expectedPriceCents: 1 }, key), "bid_changed");
  expect((await send(person, path, { bidId: bid.id, expectedPriceCents: bid.priceCents }, key)).status).toBe(200);
});

test("a sample that was finalised without a key is finalised again with one", async () => {
  const { bid } = await awardedTask(person, other);
  const storageKey = await upload(other, bid.id, "sample");
  const path = `/bids/${bid.id}/sample/finalize`;
  const first = await other.post(path, { storageKey });
  const again = await send(other, path, { storageKey }, newKey());
  expect([again.status, again.body.sample.id]).toEqual([201, first.body.sample.id]);
});
