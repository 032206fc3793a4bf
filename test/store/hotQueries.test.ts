import { beforeAll, expect, test } from "vitest";
import { createPerson, fund, type TestPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { type QueryPlan, recordPlans } from "../setup/queryPlans.ts";
import { useService } from "../setup/testService.ts";

const TASKS = 3_000;
const PEOPLE = 1_000;
const MAX_READ_PER_ROW = 4;

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

/** Tables so large that the planner uses indexes, with the rows that belong to the caller among those of others. */
beforeAll(async () => {
  buyer = await createPerson(service);
  bidder = await createPerson(service);
  await fund(service, buyer.id, 10_000_000);
  const { pool } = service.owner;
  await pool.query(
    `INSERT INTO users (email, password_hash, display_name)
     SELECT 'other' || n || '@example.com', '', 'Person' FROM generate_series(1, ${PEOPLE}) AS n`,
  );
  await pool.query(
    `INSERT INTO api_keys (user_id, label, scopes, key_hash, last4)
     SELECT id, 'key', '{}', sha256(id::text::bytea), 'AAAA' FROM users`,
  );
  await pool.query("INSERT INTO sessions (user_id, expires_at) SELECT id, service_now() + interval '1 day' FROM users");
  await pool.query("SELECT ledger_exchange(id, 'topup', 1000, 'start ' || id) FROM users");
  await pool.query(`SELECT ledger_exchange($1::uuid, 'topup', 1000, 'buyer ' || n) FROM generate_series(1, 500) AS n`, [
    buyer.id,
  ]);
  await pool.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, created_at)
     SELECT CASE WHEN n % 10 = 0 THEN $1 ELSE people[1 + n % ${PEOPLE}] END, 'Page ' || n, 'To be translated.', 10000,
            '{translation}', CASE WHEN n % 4 = 0 THEN 'cancelled' ELSE 'open' END, service_now() - n * interval '1 minute'
     FROM (SELECT array_agg(id) AS people FROM users) AS users, generate_series(1, ${TASKS}) AS n`,
    [buyer.id],
  );
  await pool.query(
    `INSERT INTO bids (task_id, bidder_id, price_cents, eta_hours, status, created_at)
     SELECT t.id, CASE number WHEN 1 THEN $1 ELSE people[1 + (t.n * number) % ${PEOPLE}] END, 1000, 24, 'withdrawn',
            t.created_at + number * interval '1 second'
     FROM (SELECT array_agg(id) AS people FROM users) AS users, generate_series(1, 2) AS number,
          (SELECT id, created_at, row_number() OVER () AS n FROM tasks) AS t`,
    [bidder.id],
  );
  await pool.query(
    `INSERT INTO events (type, task_id, recipients, data, fanned_out_at)
     SELECT 'task.updated', id, ARRAY[buyer_id], '{"task":{}}', now() FROM tasks`,
  );
  await pool.query("VACUUM ANALYZE");
});

const describe = ({ text, rowsRead, rowsReturned, plan }: QueryPlan) =>
  `${rowsRead} rows read for ${rowsReturned}: ${text.replaceAll(/\s+/g, " ").trim()}\n${JSON.stringify(plan, null, 1)}`;

test("no statement of a usual request reads more than four times the rows that it returns", async () => {
  const plans = await recordPlans(async () => {
    const firstPage = await buyer.get("/tasks");
    expect(firstPage.body.tasks).toHaveLength(50);
    await buyer.get(`/tasks?cursor=${firstPage.body.nextCursor}`);
    const task = await postTask(buyer);
    await placeBid(bidder, task.id);
    for (const person of [buyer, bidder]) {
      await person.get(`/tasks/${task.id}`);
      for (const path of ["/me/tasks", "/bids", "/wallet", "/wallet/ledger", "/events", "/keys", "/webhooks"]) {
        const answer = await person.get(path);
        expect(answer.status, path).toBe(200);
      }
    }
    await buyer.get(`/tasks/${task.id}/bids`);
    await buyer.get(`/users/${bidder.id}/reputation`);
    const delivered = await deliveredTask(buyer, bidder);
    const accepted = await buyer.post(`/tasks/${delivered.task.id}/accept`);
    expect(accepted.status).toBe(200);
  });
  expect(plans.length).toBeGreaterThan(50);
  const greedy = plans.filter(({ rowsRead, rowsReturned }) => rowsRead > MAX_READ_PER_ROW * rowsReturned);
  expect(greedy.map(describe).join("\n")).toBe("");
});
