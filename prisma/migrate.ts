import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, DatabaseError } from "pg";

/** The advisory lock that Prisma's own `migrate deploy` takes, so that the two never run at the same time. */
const prismaLockKey = 72707369;

/** The first migration of every database from before the first release. It was later folded into today's migrations. */
const preReleaseMigration = "20261120000000_marketplace";

const ownDirectory = join(import.meta.dirname, "migrations");

/** The same table that Prisma creates, so that its command line can read it. */
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

/** The database cannot be brought up to date. The message says why and what to do, and needs no stack trace. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

/**
 * Applies the migrations that a database does not have yet, each in its own transaction, and returns their names.
 *
 * This replaces `prisma migrate deploy`, which needs an engine that Prisma downloads at run time. Any number of processes
 * may call it at once: one applies the migrations; the others wait and then find nothing to do. If there is nothing to do,
 * it costs one query. A migration is sent as one simple query, so it may contain several statements and functions, but
 * nothing that cannot run in a transaction (CREATE INDEX CONCURRENTLY). The connection must not go through a transaction
 * pooler, because the lock belongs to the session.
 *
 * @param options.directory contains `<name>/migration.sql`, applied in order of name; `prisma/migrations` by default.
 * @throws MigrationError if the database's history does not match the files, or if a migration fails. A migration that
 *   fails is rolled back completely.
 */
export async function applyMigrations(databaseUrl: string, options: { directory?: string } = {}): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? ownDirectory);
  const client = new Client({ connectionString: databaseUrl, application_name: "migrate" });
  await client.connect();
  try {
    const before = compare(migrations, await readApplied(client));
    if (before.problem === null && before.pending.length === 0) return [];

    // If this process is killed, Postgres cancels its running statement within a second.
    await client.query("SET client_connection_check_interval = '1s'");
    // Without the lock, a migration in progress in another process may look like a problem, so compare again under it.
    await client.query("SELECT pg_advisory_lock($1)", [prismaLockKey]);
    const { problem, pending } = compare(migrations, await readApplied(client));
    if (problem !== null) throw new MigrationError(problem);
    await createHistory(client);
    for (const migration of pending) await apply(client, migration);
    return pending.map((migration) => migration.name);
  } finally {
    await client.end(); // Ending the session also releases the lock.
  }
}

async function createHistory(client: Client): Promise<void> {
  try {
    await client.query(createTable);
  } catch (error) {
    if (error instanceof DatabaseError && error.code === "42501") {
      throw new MigrationError(
        `The database role ${client.user} may not create tables. Set DATABASE_OWNER_URL to a role that owns the database, ` +
          "and run `npm run migrate`.",
      );
    }
    throw error;
  }
}

/** insufficient_privilege */
function notGranted(role: string | undefined): string {
  return (
    `The database role ${role} lacks rights to this database. Run \`npm run migrate\` with DATABASE_OWNER_URL set, which ` +
    "grants the role of DATABASE_URL what it needs."
  );
}

/** The names of the migrations that this version needs. */
export async function migrationNames(directory = ownDirectory): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = await migrationNames(directory);
  return Promise.all(
    names.map(async (name) => ({ name, sql: await readFile(join(directory, name, "migration.sql"), "utf8") })),
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
    if (error instanceof DatabaseError && error.code === "42P01") return []; // undefined_table: a new database
    if (error instanceof DatabaseError && error.code === "42501") throw new MigrationError(notGranted(client.user));
    throw error;
  }
}

/**
 * Compares a database with the migrations of this version, and changes nothing. Any role that may read the history may call it.
 * Migrations of a newer version are no problem: it keeps what the code of the release before reads and writes, so that a process
 * of that release can start while an upgrade is under way, or after a rollback.
 * @returns the names of the migrations that the database lacks, and of those that come after the last one of this version
 * @throws MigrationError if the database's history does not match the files, or if the role may not read it
 */
export async function compareMigrations(
  databaseUrl: string,
  directory = ownDirectory,
): Promise<{ pending: string[]; newer: string[] }> {
  const migrations = await readMigrations(directory);
  const last = migrations.at(-1)?.name ?? "";
  const client = new Client({ connectionString: databaseUrl, application_name: "migrate" });
  await client.connect();
  try {
    const applied = await readApplied(client);
    const isNewer = ({ name }: AppliedMigration) => name > last;
    const { problem, pending } = compare(
      migrations,
      applied.filter((migration) => !isNewer(migration)),
    );
    if (problem !== null) throw new MigrationError(problem);
    return { pending: pending.map(({ name }) => name), newer: applied.filter(isNewer).map(({ name }) => name) };
  } finally {
    await client.end();
  }
}

/** Returns the migrations still to be applied, and the first problem that prevents applying them, or null. */
function compare(migrations: Migration[], applied: AppliedMigration[]) {
  const onDisk = new Map(migrations.map((migration) => [migration.name, migration]));
  const appliedNames = new Set(applied.map((migration) => migration.name));
  const pending = migrations.filter((migration) => !appliedNames.has(migration.name));
  return { pending, problem: findProblem(onDisk, applied) };
}

function findProblem(onDisk: Map<string, Migration>, applied: AppliedMigration[]): string | null {
  if (applied.some(({ name }) => name === preReleaseMigration)) {
    return (
      "This database was created by a pre-release version of Rebid and cannot be upgraded. Move the data directory away " +
      "(`.data`, or what DATA_DIR names), or point DATABASE_URL to an empty database, and start again."
    );
  }
  for (const { name, checksum, isFinished } of applied) {
    const migration = onDisk.get(name);
    if (!isFinished) {
      return (
        `Migration ${name} was started and never finished. Inspect the database, then record the outcome: ` +
        `prisma migrate resolve --applied ${name}, or --rolled-back ${name}.`
      );
    }
    if (!migration) {
      return (
        `Migration ${name} has been applied to this database, but its file does not exist. Either this version of Rebid ` +
        "is older than the database, or the database belongs to another branch. Restore the file, or use another database."
      );
    }
    if (!checksumsOf(migration.sql).includes(checksum)) {
      return (
        `The file of migration ${name} was changed after it was applied to this database. Restore the file and put the ` +
        "change into a new migration."
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
    await client.query("ROLLBACK").catch(() => {}); // If the connection is broken, the server rolls back.
    throw new MigrationError(`Migration ${name} failed and was rolled back: ${describe(cause, sql)}`, { cause });
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

/** git may convert line endings between systems. Like Prisma, we accept either. */
function checksumsOf(sql: string): string[] {
  const unix = sql.replaceAll("\r\n", "\n");
  return [sql, unix, unix.replaceAll("\n", "\r\n")].map(checksumOf);
}
