import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { isDatabaseUnavailable } from "../../server/store/databaseErrors.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  // One that the server ends may say so twice: that it was reset, and that it has ended.
  client.on("error", () => undefined);
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

test("a statement that runs too long counts as an unavailable database, also through Prisma", async () => {
  const database = openDatabase(service.databaseUrl, { poolSize: 1, statementTimeoutSeconds: 0.1 });
  const raw = await failureOf(database.query(sql`SELECT pg_sleep(30)`));
  const throughPrisma = await failureOf(database.prisma.$queryRaw`SELECT pg_sleep(30)`);
  expect([isDatabaseUnavailable(raw), isDatabaseUnavailable(throughPrisma)]).toEqual([true, true]);
  await database.close();
});

test("while the server accepts no connection, one client at a time tries again and the others fail at once", async () => {
  let attempts = 0;
  const server = createServer((socket) => {
    attempts += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const database = openDatabase(`postgres://nobody@127.0.0.1:${port}/nothing`, { poolSize: 20 });
  const fail = (count: number) =>
    Promise.all(Array.from({ length: count }, () => failureOf(database.query(sql`SELECT 1`))));
  const startMs = performance.now();
  for (let index = 0; index < 50; index++) await fail(1);
  // When the next attempt is due, all clients of the pool could make it.
  await sleep(300);
  const failures = await fail(200);
  expect(failures.every(isDatabaseUnavailable)).toBe(true);
  // The first, and one each 250 ms.
  expect(attempts).toBeLessThanOrEqual(1 + (performance.now() - startMs) / 250);
  await database.close();
  await new Promise((resolve) => server.close(resolve));
});
