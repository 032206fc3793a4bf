import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import pg from "pg";
import { type Bench, medianOf } from "../setup/bench.ts";
import { timeOfProcess } from "../setup/cpuTime.ts";

/** What the guide "Growing" takes its figures from. */
const FILE = new URL("../../../docs/site/growing/costs.json", import.meta.url);

/** `PARTITIONS_ROWS=100000 npm run bench partitions` takes seconds. */
const ROWS = Number(process.env.PARTITIONS_ROWS ?? 10_000_000);
const USERS = ROWS / 50;
const DAYS = 30;
const STATEMENTS = 300;
const ROUNDS = 5;

/**
 * The two kinds of table that grow, with and without partitions: the ledger's entries by user, and the log's entries by position,
 * which is by time. Without the ledger's triggers, whose cost is the same in both.
 */
const bench: Bench = async ({ databases, log }) => {
  const client = new pg.Client({ connectionString: await databases.empty("partitions") });
  await client.connect();
  await client.query("SET maintenance_work_mem = '512MB'; SET plan_cache_mode = force_generic_plan");
  const eventLog: Record<string, object> = {};
  const ledger: Record<string, object> = {};
  for (const [name, pieces] of Object.entries({ "one table": 0, "a partition a day": DAYS })) {
    eventLog[name] = await tryEventLog(client, pieces);
    log(`event_log_entries, ${name}: ${JSON.stringify(eventLog[name])}`);
  }
  for (const [name, pieces] of Object.entries({ "one table": 0, "16 partitions": 16, "64 partitions": 64 })) {
    ledger[name] = await tryLedger(client, pieces);
    log(`ledger_entries, ${name}: ${JSON.stringify(ledger[name])}`);
    const known: object = JSON.parse(await readFile(FILE, "utf8").catch(() => "{}"));
    await writeFile(FILE, `${JSON.stringify({ ...known, partitions: { rows: ROWS, eventLog, ledger } }, null, 2)}\n`);
  }
  await client.end();
  return [];
};
export default bench;

async function tryLedger(client: pg.Client, pieces: number) {
  await client.query(`
    CREATE TABLE entries (
      id uuid NOT NULL DEFAULT uuidv7(), transfer_id uuid NOT NULL, user_id uuid NOT NULL, kind text NOT NULL, bucket text NOT NULL,
      amount_cents bigint NOT NULL, balance_after_cents bigint, version bigint, created_at timestamptz NOT NULL
    ) ${pieces === 0 ? "" : "PARTITION BY HASH (user_id)"}`);
  for (let piece = 0; piece < pieces; piece++) {
    await client.query(
      `CREATE TABLE entries_${piece} PARTITION OF entries FOR VALUES WITH (MODULUS ${pieces}, REMAINDER ${piece})`,
    );
  }
  const user = (number: string) => `md5('user' || ${number})::uuid`;
  const entry = (number: string) => `
    uuidv7(), md5('transfer' || ${number} / 2)::uuid, ${user(`${number} % ${USERS}`)}, 'hold', 'available', -1, ${number},
    ${number} / ${USERS}, '2026-01-01'::timestamptz + ${number} * interval '1 second'`;
  await client.query(`INSERT INTO entries SELECT ${entry("n")} FROM generate_series(0, ${ROWS - 1}) n`);
  // A unique key of a partitioned table contains the column that it is partitioned by.
  await client.query(`ALTER TABLE entries ADD UNIQUE (${pieces === 0 ? "id" : "id, user_id"})`);
  await client.query("ALTER TABLE entries ADD UNIQUE (user_id, version)");
  await client.query("ALTER TABLE entries ADD UNIQUE (user_id, created_at)");
  await client.query("CREATE INDEX ON entries (transfer_id)");
  await client.query("VACUUM ANALYZE entries");
  const page = `SELECT * FROM entries WHERE user_id = ${user("$1::int")} ORDER BY created_at DESC LIMIT 50`;
  const transfer = "SELECT * FROM entries WHERE transfer_id = md5('transfer' || $1::int)::uuid";
  const insert = `INSERT INTO entries SELECT ${entry("n")} FROM generate_series($1::int, $1 + 1) n`;
  const anyUser = () => Math.floor(Math.random() * USERS);
  let next = ROWS;
  const figures = {
    pageMicroseconds: await costOf(client, page, anyUser),
    transferMicroseconds: await costOf(client, transfer, () => Math.floor((Math.random() * ROWS) / 2)),
    insertMicroseconds: await costOf(client, insert, () => {
      next += 2;
      return next - 2;
    }),
    bytesPerRow: Math.round((await bytesOf(client, "entries")) / ROWS),
    reindexSeconds: await secondsOf(client, `REINDEX TABLE ${pieces === 0 ? "entries" : "entries_0"}`),
  };
  await client.query("DROP TABLE entries");
  return figures;
}

async function tryEventLog(client: pg.Client, pieces: number) {
  await client.query(`
    CREATE TABLE log (user_id uuid NOT NULL, position bigint NOT NULL, type text NOT NULL, event_id uuid NOT NULL)
      ${pieces === 0 ? "" : "PARTITION BY RANGE (position)"}`);
  const aDay = Math.ceil(ROWS / DAYS);
  for (let day = 0; day <= pieces && pieces > 0; day++) {
    const [from, to] = [day * aDay, day === pieces ? "MAXVALUE" : (day + 1) * aDay];
    await client.query(`CREATE TABLE log_${day} PARTITION OF log FOR VALUES FROM (${from}) TO (${to})`);
  }
  const user = (number: string) => `md5('user' || ${number})::uuid`;
  await client.query(`
    INSERT INTO log SELECT ${user(`n % ${USERS}`)}, n, 'task.created', uuidv7() FROM generate_series(0, ${ROWS - 1}) n`);
  await client.query("ALTER TABLE log ADD PRIMARY KEY (user_id, position)");
  await client.query("VACUUM ANALYZE log");
  const follow = `SELECT * FROM log WHERE user_id = ${user("$1::int")} AND position > ${ROWS - aDay} ORDER BY position LIMIT 50`;
  const catchUp = `SELECT * FROM log WHERE user_id = ${user("$1::int")} AND position > 0 ORDER BY position LIMIT 50`;
  const anyUser = () => Math.floor(Math.random() * USERS);
  const figures = {
    followMicroseconds: await costOf(client, follow, anyUser),
    catchUpMicroseconds: await costOf(client, catchUp, anyUser),
    bytesPerRow: Math.round((await bytesOf(client, "log")) / ROWS),
  };
  const drop = pieces === 0 ? [`DELETE FROM log WHERE position < ${aDay}`, "VACUUM log"] : ["DROP TABLE log_0"];
  const before = await walPosition(client);
  let seconds = 0;
  for (const statement of drop) seconds += await secondsOf(client, statement);
  const walMegabytes = Math.round((await walPosition(client)) - before) / 1e6;
  await client.query("DROP TABLE log");
  return { ...figures, dayDroppedInSeconds: round(seconds), dayDroppedWalMegabytes: round(walMegabytes) };
}

const round = (figure: number) => Number(figure.toPrecision(3));

async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]?.pid ?? 0;
}

/** CPU time of one statement in the database, in microseconds: the median of several rounds. */
async function costOf(client: pg.Client, text: string, parameter: () => number): Promise<number> {
  const pid = await pidOf(client);
  const rounds: number[] = [];
  const name = createHash("md5").update(text).digest("hex");
  // The first round only warms up.
  for (let number = 0; number <= ROUNDS; number++) {
    const before = await timeOfProcess(pid);
    for (let sent = 0; sent < STATEMENTS; sent++) await client.query({ name, text, values: [parameter()] });
    if (number > 0) rounds.push((((await timeOfProcess(pid)) - before) * 1000) / STATEMENTS);
  }
  return Math.round(medianOf(rounds));
}

/** CPU time, in seconds, without parallel workers. */
async function secondsOf(client: pg.Client, statement: string): Promise<number> {
  const pid = await pidOf(client);
  await client.query("SET max_parallel_maintenance_workers = 0");
  const before = await timeOfProcess(pid);
  await client.query(statement);
  return round(((await timeOfProcess(pid)) - before) / 1000);
}

async function bytesOf(client: pg.Client, table: string): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
     WHERE oid = '${table}'::regclass OR oid IN (SELECT relid FROM pg_partition_tree('${table}'))`,
  );
  return Number(rows[0]?.bytes);
}

async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes`);
  return Number(rows[0]?.bytes);
}
