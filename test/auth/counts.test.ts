import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { lockUser } from "../../server/store/userLock.ts";
import { cookieOf, createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ resolve: async () => ["93.184.215.14"] });
const parallel = <Result>(count: number, run: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

test("a user has at most 500 living API keys, however many are created at once; revoking one makes room", async () => {
  const person = await createPerson(service); // with one key
  await service.services.database.query(sql`
    INSERT INTO api_keys (user_id, label, scopes, key_hash, last4, revoked_at)
    SELECT ${person.id}::uuid, 'agent', '{}', uuid_send(gen_random_uuid()), '0000', CASE WHEN n > 498 THEN now() END
    FROM generate_series(1, 600) n`);
  const answers = await parallel(20, () => person.post("/keys", { label: "agent", scopes: [] }));
  const [created, ...others] = answers.filter(({ status }) => status === 201);
  expect(others).toEqual([]);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expectError(answer, "limit_reached");
    expect(answer.body.limit).toBe(500);
  }
  expect((await person.get("/keys")).body.keys).toHaveLength(500);
  expect((await person.delete(`/keys/${created?.body.id}`)).status).toBe(204);
  expect((await person.post("/keys", { label: "agent", scopes: [] })).status).toBe(201);
});

test("a user has at most 100 webhook endpoints, however many are registered at once; deleting one makes room", async () => {
  const person = await createPerson(service);
  const hook = { url: "https://public.example.com/hook", events: ["task.created"] };
  const first = await person.post("/webhooks", hook);
  await service.services.database.query(sql`
    INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret, deleted_at)
    SELECT user_id, url, host, events, '', CASE WHEN n > 94 THEN now() END
    FROM webhook_endpoints, generate_series(1, 150) n WHERE id = ${first.body.id}::uuid`);
  const answers = await parallel(12, () => person.post("/webhooks", hook));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expectError(answer, "limit_reached");
    expect(answer.body.limit).toBe(100);
  }
  expect((await person.get("/webhooks")).body.webhooks).toHaveLength(100);
  expect((await person.delete(`/webhooks/${first.body.id}`)).status).toBe(204);
  expect((await person.post("/webhooks", hook)).status).toBe(201);
});

test("the oldest sessions end when a user has more than 100, however many log in at once; nobody is refused", async () => {
  const person = await createPerson(service);
  const { database } = service.services;
  await database.query(sql`
    INSERT INTO sessions (user_id, expires_at, created_at)
    SELECT ${person.id}::uuid, now() + interval '1 day', now() - make_interval(mins => n) FROM generate_series(1, 99) n`);
  const credentials = { email: person.email, password: person.password };
  const answers = await parallel(5, () => rest(service.url, "POST", "/auth/login", { body: credentials }));
  for (const answer of answers) {
    expect(answer.status).toBe(200);
    expect((await rest(service.url, "GET", "/auth/me", { credentials: cookieOf(answer) })).status).toBe(200);
  }
  expect((await person.get("/auth/me")).status).toBe(200);
  const [left] = await database.query(sql`
    SELECT count(*) AS count, count(*) FILTER (WHERE created_at < now() - interval '94.5 minutes') AS oldest
    FROM sessions WHERE user_id = ${person.id}::uuid`);
  expect(left).toEqual({ count: 100, oldest: 0 });
});

test("what is counted per user is counted by one process at a time", async () => {
  const person = await createPerson(service);
  const other = openDatabase(service.databaseUrl, { poolSize: 1 });
  let answered = false;
  let creating: Promise<unknown> = Promise.resolve();
  await other.transaction(async (tx) => {
    await lockUser(tx, person.id);
    creating = person.post("/keys", { label: "agent", scopes: [] }).then(() => {
      answered = true;
    });
    await expect
      .poll(() => service.services.database.query(sql`SELECT 1 FROM pg_locks WHERE NOT granted`))
      .not.toHaveLength(0);
    expect(answered).toBe(false);
  });
  await creating;
  await other.close();
});
