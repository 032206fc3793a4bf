import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { checkPooledRole } from "../../server/store/pooledRole.ts";
import { type PoolSettings, requestPool } from "../../server/store/poolSettings.ts";
import { createTestDatabase, type TestDatabase } from "../setup/testDatabase.ts";
import { startPooler } from "./pooler.ts";

const settings: PoolSettings = { ...requestPool, pooler: "transaction" };
let database: TestDatabase;
let pooler: Awaited<ReturnType<typeof startPooler>>;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await pooler?.stop();
  await database.drop();
});

test("a role without the settings is refused with the statements that make them, after which it is accepted", async () => {
  pooler = await startPooler(database.url);
  const refusal = await checkPooledRole(pooler.url, settings).then(
    () => "",
    (error: Error) => error.message,
  );
  const statements = refusal.match(/ALTER ROLE .*;/g) ?? [];
  for (const part of ["statement_timeout = '10000'", "lock_timeout = '5000'"]) expect(refusal).toContain(part);
  const owner = openDatabase(database.ownerUrl, { poolSize: 1 });
  const name = new URL(database.url).pathname.slice(1);
  // Only in this database, because other tests use the role too.
  for (const statement of statements) await owner.pool.query(statement.replace(" SET ", ` IN DATABASE ${name} SET `));
  await owner.close();
  await pooler.stop();
  pooler = await startPooler(database.url);
  await checkPooledRole(pooler.url, settings);
});

test("two processes give one name to different statements, and each gets its own answers", async () => {
  const [one, other] = [openDatabase(pooler.url, settings), openDatabase(pooler.url, settings)];
  const ask = (of: typeof one, number: number) =>
    of.query(sql`SELECT ${number}::int AS number`, { sharesConnection: true });
  for (let round = 1; round < 20; round++) {
    const answers = await Promise.all([
      ask(one, round),
      ask(other, -round),
      one.transaction((tx) => ask({ ...one, ...tx }, 7)),
    ]);
    expect(answers).toEqual([[{ number: round }], [{ number: -round }], [{ number: 7 }]]);
  }
  await Promise.all([one.close(), other.close()]);
});
