import pg from "pg";
import { MigrationError, migrationNames } from "../../../prisma/migrate.ts";
import type { Config } from "../../config.ts";
import { checkPooledRole } from "../../store/pooledRole.ts";
import { jobPool, requestPool } from "../../store/poolSettings.ts";
import { checkSchema } from "../../store/schema.ts";
import { type Found, messageOf, ok, problem, warning } from "./finding.ts";

const CONNECT_TIMEOUT_MS = 5_000;
const OLDEST_VERSION = 15;
/** From here on, deadlines and signatures of the object store and the processor are judged visibly wrong. */
const SKEW_WARNING_SECONDS = 2;
const SKEW_PROBLEM_SECONDS = 60;
const MIGRATE = "Run `npm run migrate` with DATABASE_OWNER_URL and DATABASE_URL set.";

export interface DatabaseUrls {
  databaseUrl: string;
  /** Null if it is not given: a production service runs without it. */
  ownerUrl: string | null;
  pooledUrl: string | null;
  replicaUrls: readonly string[];
}

/** Looks at the database as the service's role, at the owner's and the pooler's way to it, and at its standbys. */
export async function examineDatabase(urls: DatabaseUrls, { production }: Pick<Config, "production">) {
  return withClient(urls.databaseUrl, async (client) => [
    ...(await examineServer(client)),
    ...(await examineSchema(client, urls.databaseUrl, production)),
    ...(urls.ownerUrl === null ? [] : await examineOwner(urls.ownerUrl)),
    ...(urls.pooledUrl === null ? [] : await examinePooler(urls.pooledUrl)),
    ...(await examineStandbys(client, urls.replicaUrls)),
  ]);
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "rebid doctor",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

interface ServerRow {
  version: number;
  versionText: string;
  isStandby: boolean;
  encoding: string;
  isDurable: boolean;
  connections: number;
  skewSeconds: number;
}

async function readServer(client: pg.Client): Promise<ServerRow> {
  const askedAt = Date.now();
  const { rows } = await client.query<ServerRow & { seconds: number }>(`
    SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_version') AS "versionText",
      pg_is_in_recovery() AS "isStandby", current_setting('server_encoding') AS encoding,
      current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'
        AND current_setting('synchronous_commit') <> 'off' AS "isDurable",
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
      extract(epoch FROM clock_timestamp())::float8 AS seconds`);
  const [row] = rows;
  if (row === undefined) throw new Error("the database does not describe itself");
  // The answer was made somewhere between question and answer.
  const middle = (askedAt + Date.now()) / 2_000;
  return { ...row, skewSeconds: Math.abs(row.seconds - middle) };
}

async function examineServer(client: pg.Client): Promise<Found[]> {
  const server = await readServer(client);
  const found: Found[] = [];
  if (server.version < OLDEST_VERSION) {
    found.push(problem(`PostgreSQL ${server.versionText} is too old`, `Use PostgreSQL ${OLDEST_VERSION} or newer.`));
  } else found.push(ok(`PostgreSQL ${server.versionText}`));
  if (server.isStandby) {
    const advice = "Let DATABASE_URL lead to the primary, through a proxy that follows it, such as HAProxy.";
    found.push(problem("it is a standby, which takes no changes", advice));
  }
  if (server.encoding !== "UTF8") {
    const advice = "Create the database anew with ENCODING 'UTF8' TEMPLATE template0.";
    found.push(problem(`its encoding is ${server.encoding}: most texts cannot be stored`, advice));
  }
  if (!server.isDurable) {
    const advice = "Set fsync, full_page_writes and synchronous_commit to their defaults.";
    found.push(warning("a crash of the server can lose what was acknowledged", advice));
  }
  const needed = requestPool.poolSize + jobPool.poolSize;
  if (server.connections < needed) {
    const advice = `One process uses up to ${needed}. Raise max_connections, or set DATABASE_POOLER.`;
    found.push(warning(`it takes only ${server.connections} connections`, advice));
  }
  return [...found, clockFinding(server.skewSeconds)];
}

function clockFinding(skewSeconds: number): Found {
  const text = `its clock and this machine's differ by ${skewSeconds.toFixed(1)} s`;
  const advice = "Let both machines follow a time server, with chrony or systemd-timesyncd.";
  if (skewSeconds > SKEW_PROBLEM_SECONDS) return problem(text, advice);
  return skewSeconds > SKEW_WARNING_SECONDS ? warning(text, advice) : ok(text);
}

async function examineSchema(client: pg.Client, url: string, production: boolean): Promise<Found[]> {
  try {
    const { roleOwnsSchema, newer } = await checkSchema(url);
    const found = [
      ok(`all ${(await migrationNames()).length} migrations are applied`),
      ...newer.map((name) =>
        warning(`so is ${name} of a newer release`, "Go on with that release, or the one before it."),
      ),
      ...(await missingRights(client)),
      await examineReconciliation(client),
    ];
    if (!roleOwnsSchema) return [...found, ok("the service's role cannot change the schema")];
    const advice = "Give the service a role of its own, as docs/guides/production.md describes.";
    return [...found, warning("the service's role may change the schema, and with it the ledger's guards", advice)];
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    // A developer's database has a test clock, and is brought up to date by each start.
    if (!production && error.message.includes("test clock")) return [ok("it is a developer's, with a test clock")];
    return [problem("the schema does not fit this version", error.message)];
  }
}

async function examineReconciliation(client: pg.Client): Promise<Found> {
  const { rows } = await client.query<{ isPaused: boolean }>(`SELECT needs_reconciliation() AS "isPaused"`);
  if (!rows[0]?.isPaused)
    return ok("it was not restored since it was last compared with the processor: payouts are sent");
  const advice =
    "`npm run reconcile` shows what the books lack, and with `-- --apply` books it and lets payouts be sent.";
  return problem(
    "it was restored or has failed over: no payout is sent until the books agree with the processor",
    advice,
  );
}

/** The tables that the service's role cannot use, although `npm run migrate` lets it. */
async function missingRights(client: pg.Client): Promise<Found[]> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT c.oid::regclass::text AS name FROM pg_class c
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace IN ('public'::regnamespace, 'graphile_worker'::regnamespace)
      AND NOT (has_table_privilege(c.oid, 'SELECT') AND (has_table_privilege(c.oid, 'INSERT') OR c.relname ~ 'migrations$'))
    ORDER BY 1`);
  if (rows.length === 0) return [ok("the service's role has its rights")];
  const names = rows.map(({ name }) => name).join(", ");
  return [problem(`the service's role lacks rights to ${names}`, `${MIGRATE} It grants what the service needs.`)];
}

async function examineOwner(ownerUrl: string): Promise<Found[]> {
  try {
    return await withClient(ownerUrl, async (client) => {
      const { rows } = await client.query<{ name: string }>(`
        SELECT c.oid::regclass::text AS name FROM pg_class c
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND NOT pg_has_role(c.relowner, 'MEMBER')`);
      if (rows.length === 0) return [ok("the owner's role owns every table")];
      const names = rows.map(({ name }) => name).join(", ");
      const advice = `Run \`ALTER TABLE … OWNER TO ${pg.escapeIdentifier(client.user ?? "")}\` for each, as a superuser.`;
      return [problem(`the role of DATABASE_OWNER_URL does not own ${names}: no migration can change it`, advice)];
    });
  } catch (error) {
    return [problem(`the role of DATABASE_OWNER_URL cannot connect: ${messageOf(error)}`, "Check DATABASE_OWNER_URL.")];
  }
}

async function examinePooler(pooledUrl: string): Promise<Found[]> {
  try {
    await checkPooledRole(pooledUrl, requestPool);
    return [ok("the pooler responds, and the role has its settings")];
  } catch (error) {
    if (error instanceof MigrationError) return [problem("the role lacks settings that a pooler needs", error.message)];
    const advice = "Check DATABASE_URL, the pooler's address, and its log.";
    return [problem(`the pooler does not respond: ${messageOf(error)}`, advice)];
  }
}

/** Standbys only take load off the primary: without one, the service works. */
async function examineStandbys(primary: pg.Client, urls: readonly string[]): Promise<Found[]> {
  return Promise.all(
    urls.map(async (url, index) => {
      const name = `standby ${index + 1} of DATABASE_REPLICA_URLS`;
      try {
        return await withClient(url, (standby) => examineStandby(primary, standby, name));
      } catch (error) {
        return warning(`${name} does not respond: ${messageOf(error)}`, "Start it, or take it out of the list.");
      }
    }),
  );
}

const identity = `
  SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system, pg_is_in_recovery() AS "isStandby",
    CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS position`;

async function examineStandby(primary: pg.Client, standby: pg.Client, name: string): Promise<Found> {
  type Row = { system: string; isStandby: boolean; position: string };
  const { rows: ours } = await primary.query<Row>(identity);
  const { rows: theirs } = await standby.query<Row>(identity);
  const takeOut = "Take it out of the list, or make it a standby of this database.";
  if (ours[0]?.system !== theirs[0]?.system) return warning(`${name} is of another database cluster`, takeOut);
  if (!theirs[0]?.isStandby) return warning(`${name} is no standby: it is not used`, takeOut);
  const { rows } = await primary.query<{ bytes: number }>("SELECT ($1::pg_lsn - $2::pg_lsn)::float8 AS bytes", [
    ours[0]?.position,
    theirs[0].position,
  ]);
  return ok(`${name} responds, ${Math.max(0, rows[0]?.bytes ?? 0)} bytes behind`);
}
