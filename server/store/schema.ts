import { readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runMigrations } from "graphile-worker";
import pg from "pg";
import { applyMigrations, compareMigrations, MigrationError, migrationNames } from "../../prisma/migrate.ts";
import { type Connection, queryOne, sql } from "./connection.ts";
import { hasTestClock, setTestClock } from "./testClock.ts";

/** An advisory lock of our own, so that processes that start together do not grant at the same time. */
const GRANT_LOCK = 72707370;

/**
 * Brings the schema up to date, graphile-worker's included, and grants the service's role what it needs and nothing more.
 * Safe when several processes do it at once. If both URLs name the same role, there is nothing to grant.
 * @param ownerUrl the role that owns the tables, or will
 * @param serviceUrl the role that the service uses; only its name is read
 * @param options.testClock whether the service's time can be moved forward; without it, a clock that the database brings
 *   along, as a copy of an embedded one does, is taken away
 * @returns the names of the migrations that were applied; graphile-worker's are not among them
 * @throws MigrationError when a migration fails, or when the service's role does not exist
 */
export async function migrateDatabase(
  ownerUrl: string,
  serviceUrl: string,
  { testClock = false }: { testClock?: boolean } = {},
): Promise<string[]> {
  const applied = await applyMigrations(ownerUrl);
  await migrateQueue(ownerUrl);
  const role = new pg.Client({ connectionString: serviceUrl }).user;
  if (role === undefined) throw new MigrationError("DATABASE_URL must name the service's role.");
  await withClient(ownerUrl, async (owner) => {
    // Ending the session releases the lock.
    await owner.query("SELECT pg_advisory_lock($1)", [GRANT_LOCK]);
    await grantService(owner, role);
    await setTestClock(owner, role, testClock);
  });
  return applied;
}

/**
 * graphile-worker's own pool takes its listeners off before its connection has closed. Postgres that is stopped right then
 * tells that connection, and the error would end this process.
 */
async function migrateQueue(ownerUrl: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: ownerUrl, application_name: "migrate", max: 1 });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  try {
    await runMigrations({ pgPool: pool });
  } finally {
    await pool.end();
  }
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url, application_name: "migrate" });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * The ledger, the schedules of fees and the record of moderation are append-only for the service: it inserts and reads. It deletes no wallets,
 * writes no history of migrations, and creates nothing: not even temporary tables, because a trigger on one could pass for
 * a trigger of the ledger.
 */
function grantsTo(role: string, database: string): string {
  const schemas = "public, graphile_worker";
  return `
    REVOKE CREATE, TEMPORARY ON DATABASE ${database} FROM PUBLIC, ${role};
    REVOKE CREATE ON SCHEMA public FROM PUBLIC, ${role};
    REVOKE ALL ON ALL TABLES IN SCHEMA ${schemas} FROM ${role};
    GRANT USAGE ON SCHEMA ${schemas} TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schemas} TO ${role};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schemas} TO ${role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schemas} TO ${role};
    REVOKE UPDATE, DELETE ON ledger_transfers, ledger_entries, fee_schedules, moderation_actions FROM ${role};
    REVOKE DELETE ON wallets FROM ${role};
    REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations, graphile_worker.migrations FROM ${role};`;
}

async function grantService(owner: pg.Client, role: string): Promise<void> {
  const { rows } = await owner.query<{ isOwner: boolean; exists: boolean; database: string }>(
    `SELECT current_user = $1 AS "isOwner", EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS exists,
            quote_ident(current_database()) AS database`,
    [role],
  );
  const [{ isOwner, exists, database } = { isOwner: false, exists: false, database: "" }] = rows;
  if (isOwner) return;
  const name = pg.escapeIdentifier(role);
  if (!exists) {
    throw new MigrationError(
      `The database role of DATABASE_URL, ${role}, does not exist. Create it: CREATE ROLE ${name} LOGIN PASSWORD '…';`,
    );
  }
  // Each in a transaction of its own, because it locks its table: two would deadlock with a worker that takes jobs. The grants
  // follow, all in one, so that a role that has any of them lacks nothing.
  for (const statement of await missingPolicies(owner, role)) await owner.query(statement);
  await owner.query(grantsTo(name, database));
}

/** graphile-worker's tables have row-level security without a policy, so that only their owner sees rows. */
async function missingPolicies(owner: pg.Client, role: string): Promise<string[]> {
  const { rows } = await owner.query<{ statement: string }>(
    `SELECT format('CREATE POLICY %I ON %s TO %I USING (true) WITH CHECK (true)', $1::text, c.oid::regclass, $1::text) AS statement
     FROM pg_class c WHERE c.relnamespace = 'graphile_worker'::regnamespace AND c.relrowsecurity
       AND NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = $1)`,
    [role],
  );
  return rows.map(({ statement }) => statement);
}

/**
 * Checks that the schema has what this version needs, and changes nothing.
 * @returns whether the role could change the schema, and with it the guards of the ledger; and the migrations of a newer version
 * @throws MigrationError with a hint when the schema is older, or when the role lacks its rights
 */
export async function checkSchema(databaseUrl: string): Promise<{ roleOwnsSchema: boolean; newer: string[] }> {
  const { pending, newer } = await compareMigrations(databaseUrl);
  const isOld = pending.length > 0 || !(await withClient(databaseUrl, hasJobSchema));
  if (isOld) {
    throw new MigrationError(
      "The database's schema is older than this version of Rebid. Run `npm run migrate` with DATABASE_OWNER_URL set to the " +
        "role that owns the schema (and DATABASE_URL to the service's), then start again. A production start changes no schema.",
    );
  }
  return withClient(databaseUrl, async (client) => {
    if (await hasTestClock(client)) {
      throw new MigrationError(
        "The database has a test clock, as the embedded database of a developer does, and may not be run in production with it. " +
          "`npm run migrate` removes it.",
      );
    }
    const { rows } = await client.query<{ roleOwnsSchema: boolean }>(
      `SELECT rolsuper OR rolcreaterole OR pg_has_role(c.relowner, 'MEMBER') AS "roleOwnsSchema"
       FROM pg_roles, pg_class c WHERE rolname = current_user AND c.oid = 'ledger_entries'::regclass`,
    );
    return { roleOwnsSchema: rows[0]?.roleOwnsSchema ?? false, newer };
  });
}

const UNDEFINED_TABLE = "42P01";

/** True if the database lacks a migration of this version, as a restored copy may. One with newer ones is as good. */
export async function lacksMigrations(connection: Connection): Promise<boolean> {
  const needed = await migrationNames();
  try {
    const applied = await connection.query<{ name: string }>(
      sql`SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
    );
    const names = new Set(applied.map(({ name }) => name));
    return needed.some((name) => !names.has(name));
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return true;
    throw error;
  }
}

/** Returns when the database was set up. */
export async function readSetUpAt(connection: Connection): Promise<string> {
  const { at } = await queryOne<{ at: string }>(connection, sql`SELECT min(started_at) AS at FROM _prisma_migrations`);
  return at;
}

/** True if graphile-worker would find nothing to migrate. */
async function hasJobSchema(client: pg.Client): Promise<boolean> {
  const packageFile = createRequire(import.meta.url).resolve("graphile-worker");
  const files = (await readdir(join(packageFile, "../../sql"))).sort();
  const newest = Number.parseInt(files.at(-1) ?? "", 10);
  const { rows } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('graphile_worker.migrations') IS NOT NULL AS exists",
  );
  if (!rows[0]?.exists) return false;
  const { rows: applied } = await client.query("SELECT FROM graphile_worker.migrations WHERE id >= $1", [newest]);
  return applied.length > 0;
}
