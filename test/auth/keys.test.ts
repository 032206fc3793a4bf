import getPort from "get-port";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { serve } from "../../server/http/server.ts";
import { sql } from "../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const mint = (person: TestPerson, changes: object = {}) =>
  person.post("/keys", { label: "agent", scopes: [], ...changes });
const me = (raw: string) => rest(service.url, "GET", "/auth/me", { credentials: { authorization: `Bearer ${raw}` } });

test("a key is rb_live_ and 22 base32 characters, shown once", async () => {
  const person = await createPerson(service);
  const raws = new Set<string>();
  for (let count = 0; count < 20; count++) {
    const { status, body } = await mint(person, {
      label: "  agent 7 ",
      scopes: ["bid:write", "task:write", "bid:write"],
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      label: "agent 7",
      scopes: ["bid:write", "task:write"],
      last4: body.raw.slice(-4),
      createdAt: expect.any(String),
      expiresAt: null,
      spendLimit: null,
      kind: "key",
      client: null,
      approval: null,
      raw: expect.stringMatching(/^rb_live_[A-Z2-7]{22}$/),
    });
    raws.add(body.raw);
  }
  expect(raws.size).toBe(20);
  const listed = await person.get("/keys");
  for (const raw of raws) expect(listed.text).not.toContain(raw.slice(8));
  expect(Object.keys(listed.body.keys[0]).sort()).toEqual(
    [
      "approval",
      "client",
      "createdAt",
      "expiresAt",
      "id",
      "kind",
      "label",
      "last4",
      "lastUsedAt",
      "scopes",
      "spendLimit",
    ].sort(),
  );
});

test.each([
  ["*", { scopes: ["*"] }, "scopes.0"],
  ["a scope that is not in the list", { scopes: ["task:write", "task:read"] }, "scopes.1"],
  ["a scope in capitals", { scopes: ["TASK:WRITE"] }, "scopes.0"],
  ["an empty scope", { scopes: [""] }, "scopes.0"],
  ["33 scopes", { scopes: Array(33).fill("task:write") }, "scopes"],
  ["a scope as text", { scopes: "task:write" }, "scopes"],
  ["no label", { label: "" }, "label"],
  ["a label of spaces", { label: "   " }, "label"],
  ["a label of 81", { label: "x".repeat(81) }, "label"],
  ["a raw key of one's own", { raw: "rb_live_AAAAAAAAAAAAAAAAAAAAAA" }, "raw"],
])("a key with %s is refused", async (_name, changes, field) => {
  const answer = await mint(await createPerson(service), changes);
  expectError(answer, "invalid_input");
  expect(issuePaths(answer.body)).toEqual([field]);
});

test("a key is stored as a hash: its text is nowhere in the database", async () => {
  const person = await createPerson(service);
  const { raw } = (await mint(person)).body;
  const { database } = service.services;
  const [row] = await database.query<{ text: string; bytes: number }>(sql`
    SELECT row_to_json(k)::text AS text, length(key_hash) AS bytes FROM api_keys k
    WHERE last4 = ${raw.slice(-4)} AND user_id = ${person.id}::uuid`);
  expect(row?.bytes).toBe(32);
  expect(row?.text).not.toContain(raw.slice(8, -4));
  expect(row?.text).not.toContain(Buffer.from(raw).toString("hex"));
});

test("a revoked key stops working immediately, and is not listed", async () => {
  const person = await createPerson(service);
  const { id, raw } = (await mint(person)).body;
  expect((await me(raw)).status).toBe(200);
  const answer = await person.delete(`/keys/${id}`);
  expect([answer.status, answer.text]).toEqual([204, ""]);
  const attempts = await Promise.all(Array.from({ length: 10 }, () => me(raw)));
  for (const attempt of attempts) expectError(attempt, "unauthenticated");
  expect((await person.get("/keys")).body.keys.map((key: { id: string }) => key.id)).not.toContain(id);
  expectError(await person.delete(`/keys/${id}`), "not_found");
});

test("another user's key is not found", async () => {
  const [owner, other] = [await createPerson(service), await createPerson(service)];
  const { id, raw } = (await mint(owner)).body;
  expectError(await other.delete(`/keys/${id}`), "not_found");
  expect((await me(raw)).status).toBe(200);
  expect((await other.get("/keys")).text).not.toContain(id);
});

test("lastUsedAt is null until the key is used, and then about now", async () => {
  const person = await createPerson(service);
  const { id, raw } = (await mint(person)).body;
  const lastUsedAt = async () =>
    (await person.get("/keys")).body.keys.find((key: { id: string }) => key.id === id).lastUsedAt;
  expect(await lastUsedAt()).toBeNull();
  const before = service.clock.now().getTime();
  await me(raw);
  const first = Date.parse(await lastUsedAt());
  expect(first).toBeGreaterThanOrEqual(before - 1);
  service.clock.advance(3_600);
  await me(raw);
  expect(Date.parse(await lastUsedAt()) - first).toBeGreaterThanOrEqual(3_599_000);
});

test("a key cannot create, list or revoke keys, whatever its scopes", async () => {
  const person = await createPerson(service);
  const { id } = (await mint(person)).body;
  const credentials = person.key;
  const asKey = (method: string, path: string, body?: object) => rest(service.url, method, path, { body, credentials });
  expectError(await asKey("POST", "/keys", { label: "x", scopes: [] }), "forbidden");
  expectError(await asKey("GET", "/keys"), "forbidden");
  expectError(await asKey("DELETE", `/keys/${id}`), "forbidden");
});

test("no password, key or cookie is ever logged, whatever fails", async () => {
  const lines: string[] = [];
  const log = pino(
    { level: "trace", serializers: { error: pino.stdSerializers.err } },
    { write: (line) => void lines.push(line) },
  );
  const { database } = service.services;
  let isFull = true;
  const transaction: typeof database.transaction = (work) =>
    isFull ? Promise.reject(new Error("the disk is full")) : database.transaction(work);
  const port = await getPort();
  const app = createApp({ ...service.services, database: { ...database, transaction }, log }, { trustProxy: false });
  const server = await serve(app, port, "127.0.0.1");
  const url = `http://127.0.0.1:${port}`;
  const person = await createPerson(service);
  const body = { title: "abc", description: "d", maxBudgetCents: 100, tags: [] };
  try {
    for (const credentials of [person.session, person.key]) {
      const failed = await rest(url, "POST", "/tasks", { body, credentials });
      expectError(failed, "internal_error");
      expect(lines.join()).toContain(failed.body.requestId);
    }
    await rest(url, "POST", "/auth/login", { body: { email: person.email, password: person.password } });
    await rest(url, "POST", "/auth/signup", { body: { email: "x", password: person.password, displayName: "" } });
    isFull = false;
    const { raw } = (
      await rest(url, "POST", "/keys", { body: { label: "x", scopes: [] }, credentials: person.session })
    ).body;
    const logged = lines.join("\n");
    expect(logged).toContain("the disk is full");
    const secrets = [person.password, raw, person.key.authorization?.slice(7), person.session.cookie?.slice(14)];
    for (const secret of secrets) {
      expect(secret).toBeTruthy();
      expect(logged).not.toContain(secret);
    }
  } finally {
    await server.stop();
  }
});
