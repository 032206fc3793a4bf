import pg from "pg";
import { generateApiKey } from "../../../server/auth/apiKeys.ts";
import { hashSecret } from "../../../server/auth/secretHash.ts";
import type { BenchEnvironment } from "./bench.ts";
import type { Load } from "./processes.ts";

/** Fills the feed, creates buyers with money and an API key each, and returns the keys. */
export async function seedTasks(
  { databaseUrl, log }: BenchEnvironment,
  { tasks, buyers }: { tasks: number; buyers: number },
): Promise<string[]> {
  log(`writing ${tasks.toLocaleString("en")} tasks`);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const keys = Array.from({ length: buyers }, generateApiKey);
  for (const [index, key] of keys.entries()) {
    await client.query(
      `WITH buyer AS (
         INSERT INTO users (email, password_hash, display_name) VALUES ($1, '', 'Buyer') RETURNING id
       ), api_key AS (
         INSERT INTO api_keys (user_id, label, scopes, key_hash, last4)
         SELECT id, 'bench', '{task:write}', $2, $3 FROM buyer
       )
       SELECT id FROM buyer`,
      [`buyer${index}@example.com`, hashSecret(key), key.slice(-4)],
    );
  }
  await client.query("SELECT ledger_exchange(id, 'topup', 1000000000, 'bench ' || id) FROM users");
  await client.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, created_at)
     SELECT (SELECT id FROM users LIMIT 1), 'Translate page ' || n,
            repeat('From English to Finnish, in plain words. ', 10), 100 + n % 10000,
            ARRAY['translation', 'tag' || n % 100], CASE WHEN n % 4 = 0 THEN 'cancelled' ELSE 'open' END,
            clock_timestamp() - n * interval '1 second'
     FROM generate_series(1, ${tasks}) AS n`,
  );
  await client.query("VACUUM ANALYZE");
  await client.end();
  return keys;
}

/** The load that posts tasks, with a connection for each of the buyers' keys. */
export function postTask(keys: readonly string[]): Omit<Load, "port" | "seconds"> {
  const task = {
    title: "Translate a page",
    description: "From English to Finnish, in plain words.",
    maxBudgetCents: 100,
    tags: ["translation", "finnish"],
  };
  const headers = keys.map((key) => ({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" }));
  return { method: "POST", path: "/tasks", headers, body: JSON.stringify(task) };
}
