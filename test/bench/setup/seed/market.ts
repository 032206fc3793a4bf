import pg from "pg";
import { hashSecret } from "../../../../server/auth/secretHash.ts";
import { withoutIndexes, withoutLedgerGuards } from "./bulk.ts";
import { keyIdOf, sqlIdOf, sqlTimeOf, userIdOf } from "./identities.ts";

export interface MarketSize {
  /** Three of four are open, the others cancelled. */
  tasks: number;
  /** People who have posted the tasks in turn. */
  people: number;
  /** API keys; each belongs to a person of its own, with money. */
  callers: readonly string[];
  /** API keys of one person with `savings` ledger entries. */
  savers: readonly string[];
  savings: number;
}

export const FUNDS_CENTS = 1_000_000_000;

/** The users, by number: people first, then callers, then the one saver. */
export const callerNumber = ({ people }: MarketSize, index: number) => people + 1 + index;
export const saverNumber = ({ people, callers }: MarketSize) => people + callers.length + 1;

/** The text of every task: like a real one, 400 characters. */
export const DESCRIPTION = "From English to Finnish, in plain words. ".repeat(10);

/**
 * Fills a migrated database within a minute for 1,000,000 tasks: without triggers and foreign keys, and with the indexes
 * built afterwards.
 */
export async function seedMarket(databaseUrl: string, size: MarketSize): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, options: "-c TimeZone=UTC" });
  await client.connect();
  try {
    await client.query("SET session_replication_role = replica; SET maintenance_work_mem = '512MB'");
    await seedUsers(client, size);
    await withoutIndexes(client, ["tasks"], () => seedTasks(client, size));
    if (size.savings > 0) await seedSavings(client, size);
    await client.query("VACUUM ANALYZE");
  } finally {
    await client.end();
  }
}

async function seedUsers(client: pg.Client, size: MarketSize): Promise<void> {
  await client.query(
    `INSERT INTO users (id, email, password_hash, display_name, created_at)
     SELECT ${sqlIdOf("user", "n")}, 'person' || n || '@example.com', '', 'Person ' || n, ${sqlTimeOf("n")}
     FROM generate_series(1, ${saverNumber(size)}) AS n`,
  );
  const keys = [
    ...size.callers.map((key, index) => ({ key, user: callerNumber(size, index) })),
    ...size.savers.map((key) => ({ key, user: saverNumber(size) })),
  ];
  await client.query(
    `INSERT INTO api_keys (id, user_id, label, scopes, key_hash, last4)
     SELECT id, user_id, 'bench', '{task:write,bid:write}', key_hash, 'AAAA'
     FROM unnest($1::uuid[], $2::uuid[], $3::bytea[]) AS key (id, user_id, key_hash)`,
    [
      keys.map((_, index) => keyIdOf(index + 1)),
      keys.map(({ user }) => userIdOf(user)),
      keys.map(({ key }) => hashSecret(key)),
    ],
  );
  await withoutLedgerGuards(client, () => seedFunds(client, saverNumber(size) - 1));
}

/** A top-up for each of the first users, as the ledger's trigger would write it, from before everything else. */
async function seedFunds(client: pg.Client, users: number): Promise<void> {
  const at = "'2000-01-01T00:00:00Z'::timestamptz + n * interval '1 second'";
  await client.query(
    `INSERT INTO ledger_transfers (id, external_ref, created_at)
     SELECT ${sqlIdOf("fundTransfer", "n")}, 'bench ' || n, ${at} FROM generate_series(1, ${users}) AS n`,
  );
  await client.query(
    `INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
     SELECT ${sqlIdOf("fundEntry", "2 * n + side.number")}, ${sqlIdOf("fundTransfer", "n")},
            CASE side.number WHEN 0 THEN ${sqlIdOf("user", "n")} END, 'topup', side.bucket, side.cents, side.balance, side.version, ${at}
     FROM generate_series(1, ${users}) AS n,
          (VALUES (0, 'available', ${FUNDS_CENTS}, ${FUNDS_CENTS}, 1), (1, 'outside', -${FUNDS_CENTS}, NULL, NULL))
            AS side (number, bucket, cents, balance, version)`,
  );
  await client.query(
    `INSERT INTO wallets (user_id, available_cents, version, last_entry_at)
     SELECT ${sqlIdOf("user", "n")}, ${FUNDS_CENTS}, 1, ${sqlTimeOf("0")} FROM generate_series(1, ${users}) AS n`,
  );
}

async function seedTasks(client: pg.Client, { tasks, people }: MarketSize): Promise<void> {
  await client.query(
    `INSERT INTO tasks (id, buyer_id, title, description, max_budget_cents, tags, status, created_at, updated_at)
     SELECT ${sqlIdOf("task", "n")}, ${sqlIdOf("user", `1 + n % ${people}`)}, 'Page ' || n, $1,
            100 + n % 10000, ARRAY['translation', 'topic' || n % 100], CASE WHEN n % 4 = 0 THEN 'cancelled' ELSE 'open' END,
            ${sqlTimeOf("n")}, ${sqlTimeOf("n")}
     FROM generate_series(${tasks}, 1, -1) AS n`,
    [DESCRIPTION],
  );
}

/** Top-ups of one cent each, as the ledger's trigger would write them. */
async function seedSavings(client: pg.Client, size: MarketSize): Promise<void> {
  const { savings } = size;
  const owner = sqlIdOf("user", String(saverNumber(size)));
  await client.query(
    `INSERT INTO ledger_transfers (id, external_ref, created_at)
     SELECT ${sqlIdOf("transfer", "n")}, 'saving ' || n, ${sqlTimeOf("n")} FROM generate_series(${savings}, 1, -1) AS n`,
  );
  await client.query("BEGIN");
  await client.query(
    `INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
     SELECT ${sqlIdOf("entry", "2 * n + side.number")}, ${sqlIdOf("transfer", "n")}, side.user_id, 'topup', side.bucket,
            side.cents, side.cents_before + ${savings} - n, side.version_before + ${savings} - n, ${sqlTimeOf("n")}
     FROM generate_series(${savings}, 1, -1) AS n,
          (VALUES (0, ${owner}, 'available', 1, 1, 1), (1, NULL, 'outside', -1, NULL, NULL))
            AS side (number, user_id, bucket, cents, cents_before, version_before)`,
  );
  await client.query(
    `INSERT INTO wallets (user_id, available_cents, version, last_entry_at)
     VALUES (${owner}, ${savings}, ${savings}, ${sqlTimeOf("1")})`,
  );
  await client.query("COMMIT");
}
