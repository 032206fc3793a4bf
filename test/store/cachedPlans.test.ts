import { expect, test } from "vitest";
import { createPerson, fund } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

// One connection, because each keeps its own plans.
const service = useService({ pool: { poolSize: 1 } });

test("Postgres settles on one plan for each page of a large list, even where some own much more than others", async () => {
  const saver = await createPerson(service);
  const { pool } = service.owner;
  await fund(service, saver.id, 1_000_000);
  await pool.query(
    `INSERT INTO users (email, password_hash, display_name)
     SELECT 'other' || n || '@example.com', '', 'Person' FROM generate_series(1, 500) AS n`,
  );
  await pool.query("SELECT ledger_exchange(id, 'topup', 1000, 'start ' || id) FROM users");
  await pool.query(`SELECT ledger_exchange($1::uuid, 'topup', 1, 'saved ' || n) FROM generate_series(1, 5000) AS n`, [
    saver.id,
  ]);
  await pool.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, created_at)
     SELECT id, 'A page', 'To be translated.', 100, '{}', CASE n WHEN 1 THEN 'cancelled' ELSE 'open' END,
            service_now() - row_number() OVER () * interval '1 minute'
     FROM users, generate_series(1, 10) AS n`,
  );
  await pool.query("VACUUM ANALYZE");
  const { rows } = await pool.query("SELECT service_now() - interval '1 minute' AS cursor");
  const cursor = encodeURIComponent(rows[0].cursor.toString());
  for (const path of ["/tasks", "/wallet/ledger"]) {
    for (const query of ["", `?cursor=${cursor}`]) {
      for (let count = 0; count < 8; count++) {
        expect((await rest(service.url, "GET", path + query, { credentials: saver.key })).status).toBe(200);
      }
    }
  }
  const statements = await service.services.database.pool.query(
    `SELECT statement, generic_plans AS settled FROM pg_prepared_statements
     WHERE statement ~ 'FROM (ledger_entries e|tasks t)' AND statement ~ 'LIMIT'`,
  );
  expect(statements.rows).toHaveLength(4);
  for (const { statement, settled } of statements.rows) expect(settled, statement).toBeGreaterThan(0);
});
