import { once } from "node:events";
import pg from "pg";
import { expect, test } from "vitest";
import { isDatabaseUnavailable } from "../../server/store/databaseErrors.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  return client;
}

const failureOf = (query: Promise<unknown>): Promise<unknown> =>
  query.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

test("a connection that the server ends counts as an unavailable database, during a query and at the next one", async () => {
  const [victim, admin] = await Promise.all([connect(), connect()]);
  const { rows } = await victim.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const lost = once(victim, "error");
  const during = failureOf(victim.query("SELECT pg_sleep(30)"));
  await admin.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
  expect(isDatabaseUnavailable(await during)).toBe(true);
  await lost;
  expect(isDatabaseUnavailable(await failureOf(victim.query("SELECT 1")))).toBe(true);
  await admin.end();
});

test("an unreachable server counts as an unavailable database, and an invalid statement does not", async () => {
  const nowhere = new pg.Client({ connectionString: "postgres://nobody@127.0.0.1:1/nothing" });
  expect(isDatabaseUnavailable(await failureOf(nowhere.connect()))).toBe(true);
  const client = await connect();
  expect(isDatabaseUnavailable(await failureOf(client.query("SELECT nonsense")))).toBe(false);
  await client.end();
});
