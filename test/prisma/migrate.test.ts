import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { applyMigrations, compareMigrations, MigrationError } from "../../prisma/migrate.ts";
import type { LocalPostgres } from "../../server/local/postgres/process.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { useProcesses } from "../setup/serviceProcess.ts";

/** Applies the migrations of a directory and prints their names. */
const script = `
  const { applyMigrations } = await import(${JSON.stringify(new URL("../../prisma/migrate.ts", import.meta.url).href)});
  const [, databaseUrl, directory] = process.argv;
  console.log((await applyMigrations(databaseUrl, { directory })).join());`;
let root: string;
let postgres: LocalPostgres;
let databaseUrl: string;
let directory: string;
let client: Client;
let databaseCount = 0;
const processes = useProcesses();

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rebid-migrate-"));
  postgres = await startPostgres({ directory: join(root, "data"), durable: false });
});

afterAll(async () => {
  await postgres?.stop();
  rmSync(root, { recursive: true, force: true });
});

beforeEach(async () => {
  const name = `migrate_${++databaseCount}`;
  const administrator = new Client({ connectionString: postgres.url });
  await administrator.connect();
  await administrator.query(`CREATE DATABASE ${name}`);
  await administrator.end();
  databaseUrl = postgres.url.replace(/rebid$/, name);
  directory = join(root, name);
  mkdirSync(directory);
  client = new Client({ connectionString: databaseUrl });
  await client.connect();
});

afterEach(() => client.end());

const first = "20260101000000_first";
const second = "20260102000000_second";

function write(name: string, sql: string): void {
  mkdirSync(join(directory, name), { recursive: true });
  writeFileSync(join(directory, name, "migration.sql"), sql);
}

async function tables(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i' ORDER BY 1",
  );
  return rows.map((row) => row.name);
}

function startMigrate(): ChildProcess {
  return spawn(process.execPath, ["--input-type=module", "--eval", script, databaseUrl, directory], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

test("migrations are applied once, in order of name, and create nothing else but their history", async () => {
  write(second, "ALTER TABLE task ADD COLUMN title text; INSERT INTO task (title) VALUES ('from the second');");
  write(
    first,
    `CREATE TABLE task (id int GENERATED ALWAYS AS IDENTITY);
     CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS $body$ BEGIN PERFORM ';'; RETURN 1; END; $body$;`,
  );
  writeFileSync(join(directory, "migration_lock.toml"), 'provider = "postgresql"\n');

  expect(await applyMigrations(databaseUrl, { directory })).toEqual([first, second]);
  expect(await applyMigrations(databaseUrl, { directory })).toEqual([]);
  expect(await tables()).toEqual(["_prisma_migrations", "task", "task_id_seq"]);
  expect((await client.query("SELECT one(), title FROM task")).rows).toEqual([{ one: 1, title: "from the second" }]);
});

test("the history is written as Prisma writes it", async () => {
  const sql = "CREATE TABLE task ();\n-- Umlaute: ä\n";
  write(first, sql);
  await applyMigrations(databaseUrl, { directory });
  const { rows } = await client.query("SELECT *, finished_at >= started_at AS in_order FROM _prisma_migrations");
  expect(rows).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      checksum: createHash("sha256").update(sql).digest("hex"),
      migration_name: first,
      logs: null,
      rolled_back_at: null,
      started_at: expect.any(Date),
      finished_at: expect.any(Date),
      applied_steps_count: 1,
      in_order: true,
    },
  ]);
});

test("a database that is up to date costs one query", async () => {
  write(first, "CREATE TABLE task ();");
  await applyMigrations(databaseUrl, { directory });
  const query = vi.spyOn(Client.prototype, "query");
  expect(await applyMigrations(databaseUrl, { directory })).toEqual([]);
  expect(query).toHaveBeenCalledTimes(1);
  query.mockRestore();
});

test("processes that start at the same time apply each migration once, and all succeed", async () => {
  write(first, "CREATE TABLE task (); SELECT pg_sleep(0.2);");
  write(second, "CREATE TABLE bid ();");
  const processes = Array.from({ length: 4 }, startMigrate);
  const outcomes = await Promise.all(
    processes.map(async (child) => {
      const [[code], output] = await Promise.all([once(child, "exit"), child.stdout?.toArray()]);
      return { code, output: String(output?.join("")) };
    }),
  );
  expect(outcomes.map((outcome) => outcome.code)).toEqual([0, 0, 0, 0]);
  expect(outcomes.filter((outcome) => outcome.output.includes(first))).toHaveLength(1);
  expect((await client.query("SELECT count(*)::int AS count FROM _prisma_migrations")).rows).toEqual([{ count: 2 }]);
});

test("a migration that fails is rolled back completely, and those before it stay applied", async () => {
  write(first, "CREATE TABLE task ();");
  write(second, "CREATE TABLE bid ();\n\nCREATE TABLE task ();\nSELECT wrong;");
  await expect(applyMigrations(databaseUrl, { directory })).rejects.toThrow(
    `Migration ${second} failed and was rolled back: relation "task" already exists`,
  );
  expect(await tables()).toEqual(["_prisma_migrations", "task"]);
  write(second, "CREATE TABLE bid ();\nSELECT wrong;");
  await expect(applyMigrations(databaseUrl, { directory })).rejects.toThrow(/column "wrong" does not exist \(line 2\)/);
  write(second, "CREATE TABLE bid ();");
  expect(await applyMigrations(databaseUrl, { directory })).toEqual([second]);
});

test("a process killed during a migration leaves no part of it behind and does not block the next process", async () => {
  write(first, "CREATE TABLE task (); SELECT pg_sleep(60);");
  const child = startMigrate();
  await vi.waitUntil(
    async () => (await client.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).rows.length > 0,
    { timeout: 60_000, interval: 20 },
  );
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  write(first, "CREATE TABLE task ();");
  expect(await applyMigrations(databaseUrl, { directory })).toEqual([first]);
});

test("a file that was changed after it was applied is refused", async () => {
  write(first, "CREATE TABLE task ();");
  await applyMigrations(databaseUrl, { directory });
  write(first, "CREATE TABLE task (id int);");
  write(second, "CREATE TABLE bid ();");
  await expect(applyMigrations(databaseUrl, { directory })).rejects.toThrow(
    `The file of migration ${first} was changed`,
  );
  expect(await tables()).toEqual(["_prisma_migrations", "task"]);
});

test("line endings converted by git do not count as a change", async () => {
  write(first, "CREATE TABLE task ();\nCREATE TABLE bid ();\n");
  await applyMigrations(databaseUrl, { directory });
  write(first, "CREATE TABLE task ();\r\nCREATE TABLE bid ();\r\n");
  expect(await applyMigrations(databaseUrl, { directory })).toEqual([]);
});

test("an applied migration that is missing on disk is refused", async () => {
  write(first, "CREATE TABLE task ();");
  write(second, "CREATE TABLE bid ();");
  await applyMigrations(databaseUrl, { directory });
  const older = `${directory}-older`;
  cpSync(join(directory, first), join(older, first), { recursive: true });
  await expect(applyMigrations(databaseUrl, { directory: older })).rejects.toThrow(
    `Migration ${second} has been applied to this database, but its file does not exist`,
  );
});

test("a start on the schema of a newer release is told which migrations are newer; a gap in its own is refused", async () => {
  write(first, "CREATE TABLE task ();");
  write(second, "CREATE TABLE bid ();");
  await applyMigrations(databaseUrl, { directory });
  const [older, gap] = [`${directory}-older`, `${directory}-gap`];
  cpSync(join(directory, first), join(older, first), { recursive: true });
  expect(await compareMigrations(databaseUrl, older)).toEqual({ pending: [], newer: [second] });
  cpSync(join(directory, second), join(gap, second), { recursive: true });
  await expect(compareMigrations(databaseUrl, gap)).rejects.toThrow(`Migration ${first} has been applied`);
});

test("a migration that was started and never finished is refused until it is resolved", async () => {
  write(first, "CREATE TABLE task ();");
  await applyMigrations(databaseUrl, { directory });
  write(second, "CREATE TABLE bid ();");
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('by the real command line', 'x', $1)`,
    [second],
  );
  await expect(applyMigrations(databaseUrl, { directory })).rejects.toThrow(`${second} was started and never finished`);
  expect(await tables()).toEqual(["_prisma_migrations", "task"]);
  await client.query("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1", [second]);
  expect(await applyMigrations(databaseUrl, { directory })).toEqual([second]);
});

test("a folder without a migration is named in the error, and nothing is applied", async () => {
  write(first, "CREATE TABLE task ();");
  mkdirSync(join(directory, second));
  await expect(applyMigrations(databaseUrl, { directory })).rejects.toThrow(second);
  expect(await tables()).toEqual([]);
});

test("a database from before the first release is refused with a sentence that says what to do, and is not touched", async () => {
  const sentence =
    "This database was created by a pre-release version of Rebid and cannot be upgraded. Move the data directory away " +
    "(`.data`, or what DATA_DIR names), or point DATABASE_URL to an empty database, and start again.";
  const preRelease = "20261120000000_marketplace";
  write(first, "CREATE TABLE task ();");
  await applyMigrations(databaseUrl, { directory });
  await client.query("UPDATE _prisma_migrations SET migration_name = $1", [preRelease]);

  await expect(applyMigrations(databaseUrl)).rejects.toThrow(new MigrationError(sentence));
  expect(await tables()).toEqual(["_prisma_migrations", "task"]);
  const service = await processes.start({ DATABASE_URL: databaseUrl, DATA_DIR: await processes.dataDirectory() });
  expect(await service.ended).toBe(1);
  expect(service.stderr()).toBe(`Rebid did not start.\n${sentence}\n`);
});
