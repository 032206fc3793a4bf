import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Client, DatabaseError } from "pg";

/** The lock that Prisma's own `migrate deploy` takes, so that it and this runner exclude each other, too. */
const prismaLockKey = 72707369;

/** As Prisma creates it, so that its command line finds a table it understands. */
const createTable = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;

interface Migration {
  name: string;
  sql: string;
}

interface AppliedMigration {
  name: string;
  checksum: string;
  isFinished: boolean;
}

/**
 * Applies the migrations that a database does not have yet, each in a transaction of its own, and returns their names.
 *
 * It does what `prisma migrate deploy` does, which needs an engine that Prisma downloads at run time. Any number of
 * processes may call it at once: one applies, the others wait and then find nothing to do. With nothing to do it costs
 * one query. A migration is sent as one simple query, so it may hold several statements and functions, but nothing that
 * refuses a transaction (CREATE INDEX CONCURRENTLY). It needs a session, not a transaction pooler.
 *
 * @param options.directory holds `<name>/migration.sql`, applied in the order of the names; `prisma/migrations` by default.
 * @throws Error when history and files disagree, and when a migration fails, which leaves no trace of that migration.
 */
export async function applyMigrations(databaseUrl: string, options: { directory?: string } = {}): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? join(import.meta.dirname, "migrations"));
  const client = new Client({ connectionString: databaseUrl, application_name: "migrate" });
  await client.connect();
  try {
    const before = compare(migrations, await readApplied(client));
    if (before.problem === null && before.pending.length === 0) return [];

    // A migration whose process was killed ends within a second, and not when its statement is through.
    await client.query("SET client_connection_check_interval = '1s'");
    // What looked wrong without the lock may have been another process at work, so only what is seen under it counts.
    await client.query("SELECT pg_advisory_lock($1)", [prismaLockKey]);
    const { problem, pending } = compare(migrations, await readApplied(client));
    if (problem !== null) throw new Error(problem);
    await client.query(createTable);
    for (const migration of pending) await apply(client, migration);
    return pending.map((migration) => migration.name);
  } finally {
    await client.end(); // This also gives the lock back.
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => ({ name, sql: await readFile(join(directory, name, "migration.sql"), "utf8") })),
  );
}

async function readApplied(client: Client): Promise<AppliedMigration[]> {
  try {
    const { rows } = await client.query<AppliedMigration>(
      `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS "isFinished"
         FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
    );
    return rows;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === "42P01") return []; // undefined_table: nothing was ever applied.
    throw error;
  }
}

/** What is still to be applied, and the first reason, if there is one, why nothing can be. */
function compare(migrations: Migration[], applied: AppliedMigration[]) {
  const onDisk = new Map(migrations.map((migration) => [migration.name, migration]));
  const appliedNames = new Set(applied.map((migration) => migration.name));
  const pending = migrations.filter((migration) => !appliedNames.has(migration.name));
  return { pending, problem: findProblem(onDisk, applied) };
}

function findProblem(onDisk: Map<string, Migration>, applied: AppliedMigration[]): string | null {
  for (const { name, checksum, isFinished } of applied) {
    const migration = onDisk.get(name);
    if (!isFinished) {
      return (
        `Migration ${name} was started and never finished. Look at the database, then say what happened to it: ` +
        `prisma migrate resolve --applied ${name}, or --rolled-back ${name}.`
      );
    }
    if (!migration) {
      return (
        `Migration ${name} is applied to this database, but there is no such file. Is this an older version of the code, ` +
        "or the database of another branch? Restore the file, or use another database."
      );
    }
    if (!checksumsOf(migration.sql).includes(checksum)) {
      return (
        `The file of migration ${name} was changed after it had been applied to this database. Restore the file and ` +
        "put the change into a new migration."
      );
    }
  }
  return null;
}

async function apply(client: Client, { name, sql }: Migration): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
      [randomUUID(), checksumOf(sql), name],
    );
    await client.query("COMMIT");
  } catch (cause) {
    await client.query("ROLLBACK").catch(() => {}); // The connection may be what broke; then the server rolls back.
    throw new Error(`Migration ${name} failed and was rolled back: ${describe(cause, sql)}`, { cause });
  }
}

function describe(error: unknown, sql: string): string {
  if (!(error instanceof Error)) return String(error);
  const position = error instanceof DatabaseError ? Number(error.position) : 0;
  return position ? `${error.message} (line ${sql.slice(0, position).split("\n").length})` : error.message;
}

function checksumOf(sql: string): string {
  return createHash("sha256").update(sql).digest("hex");
}

/** git may change line ends between systems; like Prisma, we take both for the same file. */
function checksumsOf(sql: string): string[] {
  const unix = sql.replaceAll("\r\n", "\n");
  return [sql, unix, unix.replaceAll("\n", "\r\n")].map(checksumOf);
}

if (import.meta.main) {
  const databaseUrl = process.env.DATABASE_URL;
  if (!databaseUrl) {
    console.error("Set DATABASE_URL to the PostgreSQL database that the migrations are for.");
    process.exit(1);
  }
  const directory = process.argv[2];
  const applied = await applyMigrations(databaseUrl, directory ? { directory: resolve(directory) } : {});
  console.log(
    applied.length === 0 ? "Nothing to apply." : `Applied:\n${applied.map((name) => `  ${name}`).join("\n")}`,
  );
}
