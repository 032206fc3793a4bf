import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { queryOne, type Sql, sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { checkSchema, migrateDatabase } from "../../server/store/schema.ts";
import { createTestDatabase } from "../setup/testDatabase.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

/** Every way in which SQL asks for the time. */
const asksForTime =
  /\b(?:(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\(\)|(?:current_timestamp|localtimestamp|current_date|current_time|localtime)\b)/i;

/** What goes by real time in the schema, and why. */
const realTimeInSchema: Record<string, string> = {
  "default of _prisma_migrations.started_at": "Prisma's own table",
  "default of job_workers.seen_at": "a heartbeat: it says that a process lives",
  "default of payout_accounts.key_created_at": "how long the payment processor remembers a key",
  "function service_now": "the clock itself",
};

/** What goes by real time in the server's SQL, and why. */
const realTimeInServer: Record<string, string> = {
  "commands/doctor/database.ts": "whether the clocks of two machines agree",
  "market/waiting.ts": "jobs: graphile-worker goes by real time",
  "jobs/liveWorkers.ts": "heartbeats, and the locks of graphile-worker",
  "repeats/keptAnswers.ts": "leases, which say that a process lives",
  "store/lease.ts": "leases, which say that a process lives",
  "store/moveTestClock.ts": "jobs: graphile-worker goes by real time",
  "store/queue.ts": "jobs: graphile-worker goes by real time",
  "store/testClock.ts": "the clock itself",
  "store/walPositions.ts": "how far standbys are behind, in real time",
};

describe("one function tells the service's time", () => {
  test("in the whole schema: defaults, functions, views, triggers, constraints and indexes", async () => {
    const found = await service.owner.query<{ name: string; text: string }>(sql`
      SELECT 'default of ' || c.relname || '.' || a.attname AS name, pg_get_expr(d.adbin, d.adrelid) AS text
      FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.adnum
      WHERE c.relnamespace = 'public'::regnamespace
      UNION ALL
      SELECT 'function ' || proname, pg_get_functiondef(oid) FROM pg_proc p
      WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')
      UNION ALL
      SELECT 'view ' || relname, pg_get_viewdef(oid) FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm')
      UNION ALL
      SELECT 'trigger ' || tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
      WHERE c.relnamespace = 'public'::regnamespace
      UNION ALL
      SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
      UNION ALL
      SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'`);
    expect(found.length).toBeGreaterThan(200);
    const real = found.filter(({ text }) => asksForTime.test(text)).map(({ name }) => name);
    expect(real.sort()).toEqual(Object.keys(realTimeInSchema).sort());
    expect(found.filter(({ text }) => text.includes("service_now()")).length).toBeGreaterThan(30);
  });

  test("in all SQL of the server", async () => {
    const names = await readdir("server", { recursive: true });
    const paths = names.filter((name) => name.endsWith(".ts") && !name.includes("node_modules"));
    expect(paths.length).toBeGreaterThan(200);
    const real: string[] = [];
    for (const path of paths) {
      const source = await readFile(join("server", path), "utf8");
      // JavaScript's own `Date.now()`, `clock.now()` and `performance.now()` are about the process.
      if (
        asksForTime.test(
          source
            .replaceAll(/\/\/.*|^ \*.*/gm, "")
            .replaceAll(/[\w)]\s*\.now\(\)|\bnow\(\)(?=[:;] (?:Date|Date;))/g, ""),
        )
      ) {
        real.push(path);
      }
    }
    expect(real.sort()).toEqual(Object.keys(realTimeInServer).sort());
  });
});

describe("where nobody may move the clock", () => {
  test("the function is clock_timestamp(), and Postgres puts that in its place", async () => {
    const { database } = service.services;
    const plan = await database.query<{ "QUERY PLAN": string }>(sql`
      EXPLAIN (VERBOSE) SELECT service_now(), real_time_of(t.at) FROM (VALUES (now())) AS t (at)`);
    const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
    expect(text).toContain("Output: clock_timestamp(), now()");
    expect(text).not.toMatch(/service_now|real_time_of/);
    const insert = await database.query<{ "QUERY PLAN": string }>(sql`
      EXPLAIN (VERBOSE) INSERT INTO users (email, password_hash, display_name) VALUES ('', '', '')`);
    expect(insert.map((row) => row["QUERY PLAN"]).join("\n")).toContain("clock_timestamp()");
  });
});

test("a copy of a database whose clock was moved is refused in production, until `npm run migrate` has taken the clock away", async () => {
  const copy = await createTestDatabase();
  await migrateDatabase(copy.ownerUrl, copy.url, { testClock: true });
  const database = openDatabase(copy.url, { poolSize: 1 });
  try {
    const hoursOf = async (time: Sql) =>
      (
        await queryOne<{ hours: number }>(
          database,
          sql`SELECT round(extract(epoch FROM ${time} - clock_timestamp()) / 3600)::int AS hours`,
        )
      ).hours;
    const aheadHours = () => hoursOf(sql`service_now()`);
    const idHours = () => hoursOf(sql`uuid_extract_timestamp(uuid_v7())`);
    expect([await aheadHours(), await idHours()]).toEqual([0, 0]);
    await database.query(sql`UPDATE test_clock.state SET ahead_ms = ${49 * 3_600_000}`);
    expect([await aheadHours(), await idHours()]).toEqual([49, 49]);
    await expect(database.query(sql`UPDATE test_clock.state SET ahead_ms = 0`)).rejects.toThrow("never runs backwards");
    // Starting again, as embedded, keeps it.
    await migrateDatabase(copy.ownerUrl, copy.url, { testClock: true });
    expect(await aheadHours()).toBe(49);

    await expect(checkSchema(copy.url)).rejects.toThrow("The database has a test clock");
    await migrateDatabase(copy.ownerUrl, copy.url);
    expect(await checkSchema(copy.url)).toEqual({ roleOwnsSchema: false, newer: [] });
    expect([await aheadHours(), await idHours()]).toEqual([0, 0]);
    const functions = (url: string) => {
      const connection = openDatabase(url, { poolSize: 1 });
      return connection
        .query(sql`SELECT proname, prosrc, provolatile, proparallel FROM pg_proc
                   WHERE proname IN ('service_now', 'real_time_of', 'uuid_v7') ORDER BY proname`)
        .finally(connection.close);
    };
    expect(await functions(copy.url)).toEqual(await functions(service.databaseUrl));
  } finally {
    await database.close();
    await copy.drop();
  }
});
