import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { readLocalState } from "../../server/local/dataDirectory/own.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { checkSchema, migrateDatabase } from "../../server/store/schema.ts";
import { createPerson } from "../factories/people.ts";
import { runScript } from "../setup/commandProcess.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ worker: true });
const { start, dataDirectory } = useProcesses();

/** Runs one statement in a session of its own and returns the SQLSTATE of its refusal. */
async function refusalOf(url: string, statement: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
    return undefined;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return error.code;
  } finally {
    await client.end();
  }
}

describe("the service's role cannot get past the ledger's guards", () => {
  beforeAll(async () => {
    await createPerson(service, { cents: 5_000 });
    // A clone of a database does not have its grants on the database itself.
    await migrateDatabase(service.ownerUrl, service.databaseUrl);
  });

  const INSUFFICIENT_PRIVILEGE = "42501";
  test.each([
    ...["ledger_entries", "ledger_transfers", "moderation_actions", "fee_schedules"].flatMap((table) => [
      `UPDATE ${table} SET id = id`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table} CASCADE`,
      `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
      `ALTER TABLE ${table} DISABLE TRIGGER ${table}_append_only`,
      `DROP TRIGGER ${table}_append_only ON ${table}`,
      `ALTER TABLE ${table} RENAME TO away`,
      `DROP TABLE ${table} CASCADE`,
    ]),
    "DELETE FROM wallets",
    "TRUNCATE wallets",
    "ALTER TABLE wallets DISABLE TRIGGER ALL",
    "ALTER TABLE wallets DROP CONSTRAINT wallets_pkey CASCADE",
    "SET session_replication_role = replica",
    "CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "ALTER FUNCTION ledger_refuse_change() RENAME TO away",
    "DROP FUNCTION ledger_refuse_change CASCADE",
    "CREATE TRIGGER own BEFORE INSERT ON ledger_entries EXECUTE FUNCTION ledger_pay_debt()",
    "CREATE RULE own AS ON DELETE TO ledger_entries DO INSTEAD NOTHING",
    "CREATE TABLE own ()",
    // A trigger of a temporary table could change a wallet as the ledger's own triggers may.
    "CREATE TEMPORARY TABLE own ()",
    "CREATE SCHEMA own",
    "SET ROLE rebid",
    "ALTER ROLE rebid_service SUPERUSER",
    "CREATE ROLE another SUPERUSER",
    "GRANT UPDATE ON ledger_entries TO rebid_service",
    "UPDATE _prisma_migrations SET checksum = ''",
    "DELETE FROM graphile_worker.migrations",
    "COPY (SELECT 1) TO PROGRAM 'true'",
  ])("%s", async (statement) => {
    const refusal = await refusalOf(service.databaseUrl, statement);
    // A grant without the right to grant is only a warning and changes nothing.
    if (refusal === undefined) {
      expect(statement).toMatch(/^GRANT/);
      expect(await refusalOf(service.databaseUrl, "UPDATE ledger_entries SET id = id")).toBe(INSUFFICIENT_PRIVILEGE);
    } else {
      expect(refusal).toBe(INSUFFICIENT_PRIVILEGE);
    }
  });

  test("it may do all that it needs: read and write every other table, and all of the job queue's", async () => {
    const owner = service.owner.pool;
    const { rows } = await owner.query<{ name: string; rights: string }>(
      `SELECT c.oid::regclass::text AS name, concat_ws(' ', CASE WHEN has_table_privilege('rebid_service', c.oid, 'SELECT') THEN 'S' END,
              CASE WHEN has_table_privilege('rebid_service', c.oid, 'INSERT') THEN 'I' END,
              CASE WHEN has_table_privilege('rebid_service', c.oid, 'UPDATE') THEN 'U' END,
              CASE WHEN has_table_privilege('rebid_service', c.oid, 'DELETE') THEN 'D' END,
              CASE WHEN has_table_privilege('rebid_service', c.oid, 'TRUNCATE, REFERENCES, TRIGGER') THEN 'more' END) AS rights
       FROM pg_class c WHERE relkind IN ('r', 'v') AND relnamespace IN ('public'::regnamespace, 'graphile_worker'::regnamespace)`,
    );
    const limited = Object.fromEntries(
      rows.filter(({ rights }) => rights !== "S I U D").map((row) => [row.name, row.rights]),
    );
    expect(limited).toEqual({
      _prisma_migrations: "S",
      fee_schedules: "S I",
      "graphile_worker.migrations": "S",
      ledger_entries: "S I",
      ledger_transfers: "S I",
      moderation_actions: "S I",
      wallets: "S I U",
    });
    expect(await checkSchema(service.databaseUrl)).toEqual({ roleOwnsSchema: false, newer: [] });
    expect(await checkSchema(service.ownerUrl)).toEqual({ roleOwnsSchema: true, newer: [] });
  });
});

describe("npm run migrate", () => {
  const urlOf = (base: string, database: string) => Object.assign(new URL(base), { pathname: `/${database}` }).href;

  async function emptyDatabase(): Promise<{ DATABASE_OWNER_URL: string; DATABASE_URL: string }> {
    const name = `migrate_${crypto.randomUUID().slice(0, 8)}`;
    const admin = new pg.Client({ connectionString: inject("postgresUrl") });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name}`);
    onTestFinished(async () => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    });
    return {
      DATABASE_OWNER_URL: urlOf(inject("postgresUrl"), name),
      DATABASE_URL: urlOf(inject("serviceRoleUrl"), name),
    };
  }

  test("migrates and grants, can be repeated, and by several at once", async () => {
    const urls = await emptyDatabase();
    const runs = await Promise.all([runScript("migrate", [], urls), runScript("migrate", [], urls)]);
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect(runs.filter(({ stdout }) => stdout.includes("20261121200200_ledger"))).toHaveLength(1);
    const again = await runScript("migrate", [], urls);
    expect(again).toEqual({
      code: 0,
      stdout: "No migration was missing.\nThe service's role has what it needs, and no more.\n",
      stderr: "",
    });
  });

  test("says what is missing: settings, the role, or the owner's rights", async () => {
    const { DATABASE_OWNER_URL, DATABASE_URL } = await emptyDatabase();
    const failures = [
      await runScript("migrate", [], {}),
      await runScript("migrate", [], { DATABASE_URL }),
      await runScript("migrate", [], {
        DATABASE_OWNER_URL,
        DATABASE_URL: DATABASE_URL.replace("rebid_service", "nobody"),
      }),
    ];
    const messages = [
      "Set DATABASE_OWNER_URL",
      "The database role rebid_service may not create tables. Set DATABASE_OWNER_URL",
      "The database role of DATABASE_URL, nobody, does not exist.",
    ];
    for (const [index, { code, stderr }] of failures.entries()) {
      expect([code, stderr]).toEqual([1, expect.stringContaining(messages[index] ?? "")]);
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });
});

test("a new role gets its rights while a worker holds any of the tables of jobs and asks for the others", async () => {
  const worker = new pg.Client({ connectionString: service.databaseUrl });
  const owner = new pg.Client({ connectionString: service.ownerUrl });
  await Promise.all([worker.connect(), owner.connect()]);
  onTestFinished(async () => {
    await Promise.all([worker.end(), owner.end()]);
  });
  const { rows } = await owner.query<{ name: string }>(
    "SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'graphile_worker'::regnamespace AND relrowsecurity",
  );
  expect(rows.length).toBeGreaterThan(1);
  const isWaiting = async () => {
    const { rowCount } = await owner.query(
      `SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE d.datname = current_database() AND l.mode = 'AccessExclusiveLock' AND NOT l.granted`,
    );
    return rowCount === 1;
  };
  for (const [index, { name: held }] of rows.entries()) {
    const role = `locked_out_${index}`;
    await owner.query(`CREATE ROLE ${role} LOGIN`);
    await worker.query("BEGIN");
    await worker.query(`SELECT FROM ${held} FOR UPDATE`);
    const migrating = migrateDatabase(service.ownerUrl, `postgresql://${role}@127.0.0.1/rebid`);
    await expect.poll(isWaiting).toBe(true);
    for (const { name } of rows) await worker.query(`SELECT FROM ${name} FOR UPDATE`);
    await worker.query("COMMIT");
    await migrating;
    const { rowCount } = await owner.query("SELECT FROM pg_policies WHERE policyname = $1", [role]);
    expect(rowCount).toBe(rows.length);
  }
});

test("a data directory of an earlier version, whose only role is the superuser, gets a service's role and keeps its data", async () => {
  const DATA_DIR = await dataDirectory();
  const postgres = await startPostgres({ directory: DATA_DIR, durable: false });
  await migrateDatabase(postgres.url, postgres.url);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query("INSERT INTO users (email, password_hash, display_name) VALUES ('kept@example.com', '', 'Kept')");
  await client.end();
  await postgres.stop();
  await writeFile(join(DATA_DIR, "local.json"), JSON.stringify({ pid: 1, databaseUrl: postgres.url }));

  const first = await start({ DATA_DIR });
  await first.ready();
  const state = readLocalState(DATA_DIR);
  expect(new URL(state?.databaseOwnerUrl ?? "").username).toBe("rebid");
  expect(new URL(state?.databaseUrl ?? "").username).toBe("rebid_service");
  expect(await refusalOf(state?.databaseUrl ?? "", "ALTER TABLE ledger_entries DISABLE TRIGGER ALL")).toBe("42501");
  const found = await runScript("moderator", ["add", "kept@example.com"], { DATA_DIR });
  expect(found).toMatchObject({ code: 0, stderr: "" });
  expect((await first.stop()).code).toBe(0);

  const second = await start({ DATA_DIR });
  await second.ready();
  // The passwords stay valid, for commands that run across the restart.
  const passwordsOf = (text: string) => text.match(/rebid(_service)?:[^@]+@/g);
  expect(passwordsOf(await readFile(join(DATA_DIR, "local.json"), "utf8"))).toEqual(passwordsOf(JSON.stringify(state)));
  expect((await second.stop()).code).toBe(0);
});
