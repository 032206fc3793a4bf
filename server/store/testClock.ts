import pg from "pg";

// Only the embedded database has a test clock: a schema of its own with one row, which says how far the service's time is
// ahead of the real one, and three functions that add it. Everywhere else the functions are those of the migrations, which
// Postgres inlines. A copy of an embedded database brings its clock along; `npm run migrate` removes it, and a production
// start refuses it.

/** Where processes hear that the clock was moved. The payload is how far it is ahead, in milliseconds. */
export const TEST_CLOCK_CHANNEL = "test_clock";

const hasClock = "SELECT to_regnamespace('test_clock') IS NOT NULL AS exists";

const install = (role: string) => `
  CREATE SCHEMA test_clock;
  CREATE TABLE test_clock.state (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    ahead_ms   bigint NOT NULL DEFAULT 0 CHECK (ahead_ms >= 0)
  );
  INSERT INTO test_clock.state DEFAULT VALUES;
  CREATE FUNCTION test_clock.refuse_to_go_back() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'the clock never runs backwards' USING ERRCODE = 'restrict_violation';
  END $$;
  CREATE TRIGGER refuse_to_go_back BEFORE UPDATE ON test_clock.state
    FOR EACH ROW WHEN (NEW.ahead_ms < OLD.ahead_ms) EXECUTE FUNCTION test_clock.refuse_to_go_back();
  CREATE FUNCTION test_clock.ahead() RETURNS interval LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT ahead_ms * interval ''1 millisecond'' FROM test_clock.state';
  CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT clock_timestamp() + test_clock.ahead()';
  CREATE OR REPLACE FUNCTION real_time_of(at timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT at - test_clock.ahead()';
  CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT uuidv7(test_clock.ahead())';
  GRANT USAGE ON SCHEMA test_clock TO ${role};
  GRANT SELECT, UPDATE ON test_clock.state TO ${role};`;

/** The functions as the migrations make them. */
const remove = `
  CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT clock_timestamp()';
  CREATE OR REPLACE FUNCTION real_time_of(at timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT at';
  DO $$
  BEGIN
    IF current_setting('server_version_num')::int >= 180000 THEN
      CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uuidv7()';
    ELSE
      CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $expression$
        SELECT (lpad(to_hex((extract(epoch FROM service_now()) * 1000)::bigint), 12, '0')
                || '-7' || substr(gen_random_uuid()::text, 16))::uuid
      $expression$;
    END IF;
  END $$;
  DROP SCHEMA test_clock CASCADE;`;

/** Whether the database has a clock that can be moved. */
export async function hasTestClock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>(hasClock);
  return rows[0]?.exists ?? false;
}

/**
 * Gives the database a test clock that the service's role may move, or takes it away. Changes nothing if it is as wanted;
 * a clock that is ahead stays so. Call it as the owner, with a lock that lets no other process do the same.
 */
export async function setTestClock(owner: pg.Client, role: string, wanted: boolean): Promise<void> {
  if (wanted === (await hasTestClock(owner))) return;
  await owner.query(wanted ? install(pg.escapeIdentifier(role)) : remove);
}

/** Like `readAheadMs`, with a connection of its own. */
export async function readTestClock(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "rebid" });
  await client.connect();
  try {
    return await readAheadMs(client);
  } finally {
    await client.end();
  }
}

/** Returns by how many milliseconds the service's time is ahead of the real one; 0 without a test clock. */
export async function readAheadMs(client: pg.Client): Promise<number> {
  if (!(await hasTestClock(client))) return 0;
  const { rows } = await client.query<{ aheadMs: string }>('SELECT ahead_ms AS "aheadMs" FROM test_clock.state');
  return Number(rows[0]?.aheadMs ?? 0);
}
