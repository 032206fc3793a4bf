import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
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

test("a server that is not a primary yet counts as an unavailable database", async () => {
  const client = await connect();
  // As a standby does for as long as it is becoming the primary.
  await client.query("SET default_transaction_read_only = on");
  expect(isDatabaseUnavailable(await failureOf(client.query("SELECT FROM users FOR SHARE")))).toBe(true);
  await client.end();
});

test("a statement that runs too long counts as an unavailable database, also through Prisma", async () => {
  const database = openDatabase(service.databaseUrl, { poolSize: 1, statementTimeoutSeconds: 0.1 });
  const raw = await failureOf(database.query(sql`SELECT pg_sleep(30)`));
  const throughPrisma = await failureOf(database.prisma.$queryRaw`SELECT pg_sleep(30)`);
  expect([isDatabaseUnavailable(raw), isDatabaseUnavailable(throughPrisma)]).toEqual([true, true]);
  await database.close();
});

test("a server that accepts connections and says nothing counts as an unavailable database, for all who wait", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const database = openDatabase(`postgres://nobody@127.0.0.1:${port}/nothing`, { poolSize: 2 });
  const failures = await Promise.all(Array.from({ length: 10 }, () => failureOf(database.query(sql`SELECT 1`))));
  expect(failures.map(isDatabaseUnavailable)).toEqual(failures.map(() => true));
  expect(sockets.length).toBeLessThanOrEqual(4);
  await database.close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

test("a time-out of ours closes the connection, in which a transaction holds locks", async () => {
  const database = openDatabase(service.databaseUrl, { poolSize: 1, silenceTimeoutSeconds: 0.3 });
  const slow = database.transaction(async (tx) => {
    await tx.query(sql`SELECT pg_advisory_xact_lock(4711)`);
    await tx.query(sql`SELECT pg_sleep(1)`);
  });
  expect(isDatabaseUnavailable(await failureOf(slow))).toBe(true);
  expect(database.pool.totalCount).toBe(0);
  const admin = await connect();
  await admin.query("SELECT pg_advisory_lock(4711)");
  await admin.end();
  expect(await database.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
  await database.close();
});
