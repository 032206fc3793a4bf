import { access, readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { pruneReports } from "../../server/audit/nightly.ts";
import { pruneAccounts } from "../../server/auth/prune.ts";
import { startHeartbeat } from "../../server/jobs/liveWorkers.ts";
import { prunePayments } from "../../server/market/prunePayments.ts";
import type { Services } from "../../server/services.ts";
import { sql } from "../../server/store/connection.ts";
import { pruneFailedJobs } from "../../server/store/queue.ts";
import { pruneWebhookEndpoints } from "../../server/webhooks/prune.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import { openTopup, pay, quiet } from "../factories/topups.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ worker: true });

/** The tables of docs/guides/production-reference.md "How long data is kept", by the heading above them. */
interface Documented {
  table: string;
  group: string;
  kept: string;
}
let documented: Documented[];
let person: TestPerson;

beforeAll(async () => {
  const guide = await readFile("docs/guides/production-reference.md", "utf8");
  const section = /^## How long data is kept$(.*?)^## /ms.exec(guide)?.[1] ?? "";
  const parts = section.split(/^\*\*(Deleted after a time|For good|As many rows)/m).slice(1);
  documented = parts.flatMap((group, index) =>
    index % 2 === 1
      ? []
      : [...(parts[index + 1] ?? "").matchAll(/^\| (`.*?) \|(.*)\|$/gm)].flatMap(([, tables = "", kept = ""]) =>
          [...tables.matchAll(/`([^`]+)`/g)].map(([, table = ""]) => ({ table, group, kept })),
        ),
  );
  person = await createPerson(service, { cents: 100_000 });
});

test("the guide for operators says of every table of the database how long its rows are kept", async () => {
  const tables = await service.owner.query<{ name: string }>(sql`
    SELECT CASE nspname WHEN 'public' THEN '' ELSE nspname || '.' END || relname AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema')`);
  const names = documented.map(({ table }) => table);
  expect(names.toSorted()).toEqual(tables.map(({ name }) => name).sort());
});

/** Proved by these tests, because their times depend on more than one column. */
const provedElsewhere: Record<string, string> = {
  idempotency_keys: "test/repeats/keys.test.ts",
  rate_limits: "test/limits/limits.test.ts",
  exports: "test/market/papers/exports.test.ts",
  uploads: "test/market/uploads/sweep.test.ts",
  push_subscriptions: "test/notifications/push.test.ts",
  push_keys: "test/notifications/push.test.ts",
  notifications: "test/notifications/inbox.test.ts",
  notification_mails: "test/notifications/inbox.test.ts",
  events: "test/events/prune.test.ts",
  event_log: "test/events/prune.test.ts",
  event_log_entries: "test/events/prune.test.ts",
  event_log_queue: "test/events/overlap.test.ts",
  webhook_deliveries: "test/webhooks/prune.test.ts",
};

interface Rule {
  /** As in the guide. */
  days: number;
  prune(services: Services): Promise<void>;
  key: string;
  /** Statements that insert rows which ended at the time `$1`. They return their keys. `$2` is a user. */
  ending: string[];
  /** The same for rows that are kept however old they are. */
  protected: string[];
}

const topup = (status: string) => `
  INSERT INTO topups (user_id, amount_cents, currency, status, success_url, cancel_url, created_at, updated_at, next_check_at)
  VALUES ($2, 500, 'usd', '${status}', '', '', $1, $1, 'infinity') RETURNING id`;
const key = (columns: string, values: string) => `
  INSERT INTO api_keys (user_id, label, scopes, last4, created_at, key_hash${columns})
  VALUES ($2, 'key', '{}', 'AAAA', $1, sha256(gen_random_uuid()::text::bytea)${values}) RETURNING id`;
const audit = (discrepancies: number) => `
  INSERT INTO ledger_audits (discrepancies, report, finished_at)
  SELECT ${discrepancies}, '{}', $1 FROM users WHERE id = $2 RETURNING id`;
const newHost = "host AS (INSERT INTO webhook_hosts (host) VALUES (gen_random_uuid() || ':443') RETURNING host)";
const newEndpoint = (deletedAt: string) => `
  INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret, created_at, deleted_at)
  SELECT $2, '', host, '{}', '', $1, deleted_at FROM host, unnest(ARRAY[${deletedAt}]::timestamptz[]) AS deleted_at`;
const endpoint = (deletedAt: string) => `WITH ${newHost} ${newEndpoint(deletedAt)}`;
const job = (attempts: number) => `
  WITH added AS (SELECT id FROM graphile_worker.add_job('nobody does this', '{}', run_at => 'infinity')),
  kept AS (SELECT $1::timestamptz AS at, $2::uuid AS person)
  SELECT id, ${attempts} AS attempts, at FROM added, kept`;

const rules: Record<string, Rule> = {
  account_tokens: {
    days: 2,
    prune: pruneAccounts,
    key: "id",
    ending: [
      `INSERT INTO account_tokens (id, user_id, purpose, token_hash, created_at, expires_at)
       VALUES (gen_random_uuid(), $2, 'verify_email', sha256(gen_random_uuid()::text::bytea), $1, $1::timestamptz + interval '1 day')
       RETURNING id`,
    ],
    protected: [],
  },
  sessions: {
    days: 0,
    prune: pruneAccounts,
    key: "id",
    ending: ["INSERT INTO sessions (user_id, created_at, expires_at) VALUES ($2, $1, $1) RETURNING id"],
    protected: [
      "INSERT INTO sessions (user_id, created_at, expires_at) VALUES ($2, $1, now() + interval '1 day') RETURNING id",
    ],
  },
  api_keys: {
    days: 90,
    prune: pruneAccounts,
    key: "id",
    ending: [key(", revoked_at", ", $1"), key(", expires_at", ", $1"), key(", revoked_at, expires_at", ", now(), $1")],
    protected: [key("", ""), key(", expires_at", ", now() + interval '1 day'")],
  },
  oauth_records: {
    days: 1,
    prune: pruneAccounts,
    key: "encode(hash, 'hex')",
    ending: [
      `INSERT INTO oauth_records (kind, hash, payload, expires_at)
       SELECT 'AccessToken', uuid_send(gen_random_uuid()), '{}', $1 FROM users WHERE id = $2 RETURNING encode(hash, 'hex')`,
    ],
    protected: [
      `INSERT INTO oauth_records (kind, hash, payload, expires_at)
       SELECT 'AccessToken', uuid_send(gen_random_uuid()), '{}', greatest($1, now() + interval '1 day')
       FROM users WHERE id = $2 RETURNING encode(hash, 'hex')`,
    ],
  },
  topups: {
    days: 90,
    prune: prunePayments,
    key: "id",
    ending: [topup("failed"), topup("expired")],
    protected: [topup("paid"), topup("created"), topup("processing")],
  },
  processor_events: {
    days: 90,
    prune: prunePayments,
    key: "id",
    ending: [
      `INSERT INTO processor_events (id, type, payload, received_at, processed_at)
       SELECT gen_random_uuid(), 'payout.paid', '{}', $1, $1 FROM users WHERE id = $2 RETURNING id`,
    ],
    protected: [
      `INSERT INTO processor_events (id, type, payload, received_at, next_attempt_at)
       SELECT gen_random_uuid(), 'payout.paid', '{}', $1, 'infinity' FROM users WHERE id = $2 RETURNING id`,
    ],
  },
  ledger_audits: { days: 365, prune: pruneReports, key: "id", ending: [audit(0)], protected: [audit(2)] },
  webhook_endpoints: {
    days: 30,
    prune: pruneWebhookEndpoints,
    key: "id",
    ending: [`${endpoint("$1")} RETURNING id`],
    protected: [
      `${endpoint("NULL")} RETURNING id`,
      `WITH ${newHost}, endpoint AS (${newEndpoint("$1")} RETURNING id)
       INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, attempts_left, due_at, created_at)
       SELECT endpoint.id, (SELECT id FROM events LIMIT 1), 'task.created', 1, 'infinity', $1 FROM endpoint
       RETURNING endpoint_id`,
    ],
  },
  webhook_hosts: {
    days: 30,
    prune: pruneWebhookEndpoints,
    key: "host",
    ending: [`${endpoint("$1")} RETURNING host`],
    protected: [
      `${endpoint("NULL")} RETURNING host`,
      // Deleted, but another user has an endpoint on the same host.
      `${endpoint("$1, NULL")} RETURNING host`,
    ],
  },
  job_workers: {
    days: 1,
    prune: async (services) => (await startHeartbeat(services, "of the test")).stop(),
    key: "worker_id",
    ending: [
      "INSERT INTO job_workers (worker_id, seen_at) SELECT gen_random_uuid(), $1 FROM users WHERE id = $2 RETURNING worker_id",
    ],
    protected: [],
  },
  "graphile_worker._private_jobs": {
    days: 30,
    prune: pruneFailedJobs,
    key: "id",
    ending: [job(25)],
    protected: [job(24)],
  },
};

test("each table whose rows are deleted after a time has a test of that time", async () => {
  const deleted = documented.filter(({ group }) => group === "Deleted after a time");
  const tested = [...Object.keys(rules), ...Object.keys(provedElsewhere)];
  expect(deleted.map(({ table }) => table).sort()).toEqual(tested.sort());
  for (const path of Object.values(provedElsewhere)) await access(path);
  for (const [table, { days }] of Object.entries(rules)) {
    if (days > 1) expect(deleted.find((of) => of.table === table)?.kept, table).toContain(`${days} days`);
  }
});

const DAY_MS = 86_400_000;
const OLD_DAYS = 2_000;

test("an event of the processor that comes again after it was pruned moves no money", async () => {
  const payer = await createPerson(service);
  const topup = await openTopup(service, payer);
  await pay(service, topup, "refunded_half");
  await quiet(service);
  const { database } = service.services;
  const wallet = (await payer.get("/wallet")).body;
  expect(wallet.availableCents).toBe(2_500);
  const events = await database.query<{ id: string; type: string; payload: object }>(sql`
    SELECT id, type, payload FROM processor_events
    WHERE payload::text LIKE ${`%${topup.sessionId}%`} OR type LIKE 'refund%' OR type LIKE 'charge%'`);
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["checkout.session.completed", "refund.created"]),
  );

  const later = { ...service.services, clock: clockOf(() => new Date(Date.now() + 91 * DAY_MS)) };
  await prunePayments(later);
  expect(
    await database.query(sql`SELECT 1 FROM processor_events WHERE id = ANY (${events.map(({ id }) => id)}::text[])`),
  ).toEqual([]);
  for (const { id, type, payload } of events) {
    await database.transaction(async (tx) => {
      await tx.query(sql`
        INSERT INTO processor_events (id, type, payload) VALUES (${id}, ${type}, ${JSON.stringify(payload)}::jsonb)`);
      tx.jobs.add("applyProcessorEvent", { eventId: id });
    });
  }
  await quiet(service);
  const outcomes = await database.query<{ outcome: string }>(sql`
    SELECT outcome FROM processor_events WHERE id = ANY (${events.map(({ id }) => id)}::text[])`);
  expect(outcomes.filter(({ outcome }) => outcome.startsWith("unexpected"))).toEqual([]);
  expect((await payer.get("/wallet")).body).toEqual(wallet);
});

describe("what has ended is deleted after its time, and nothing else", () => {
  test.each(Object.entries(rules))("%s", async (table, { days, prune, key: keyColumn, ...rule }) => {
    const { pool } = service.owner;
    const insert = async (statement: string, ageDays: number) => {
      const at = new Date(Date.now() - ageDays * DAY_MS);
      const { rows } = await pool.query(statement, [at, person.id]);
      if (table.endsWith("jobs")) {
        await pool.query("UPDATE graphile_worker._private_jobs SET attempts = $1, updated_at = $2 WHERE id = $3", [
          rows[0].attempts,
          at,
          rows[0].id,
        ]);
      }
      return rows.map((row) => String(Object.values(row)[0]));
    };
    if ((await pool.query("SELECT FROM events")).rowCount === 0) await postTask(person);
    const over: string[] = [];
    const rest: string[] = [];
    for (const statement of rule.ending) {
      over.push(...(await insert(statement, days + 0.01)));
      rest.push(...(await insert(statement, days - 0.01)));
    }
    for (const statement of rule.protected) rest.push(...(await insert(statement, OLD_DAYS)));
    const left = async () => {
      const { rows } = await pool.query(
        `SELECT ${keyColumn}::text AS key FROM ${table} WHERE ${keyColumn}::text = ANY ($1)`,
        [[...over, ...rest]],
      );
      return rows.map((row) => row.key).sort();
    };
    expect(await left()).toEqual([...new Set([...over, ...rest])].sort());
    // Many processes at once, and again.
    await Promise.all([1, 2, 3].map(() => prune(service.services)));
    await prune(service.services);
    expect(await left()).toEqual([...new Set(rest)].sort());
  });
});

test("a host that is registered while it is pruned is there afterwards", async () => {
  const { pool } = service.owner;
  // Two hosts, pruned together in this order. The test holds the second, so the first is locked and not deleted yet.
  const [first, second] = ["93.184.215.14:443", "93.184.215.15:443"];
  for (const host of [first, second]) {
    await pool.query("INSERT INTO webhook_hosts (host) VALUES ($1)", [host]);
    await pool.query(
      `INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret, deleted_at)
       VALUES ($1, '', $2, '{}', '', now() - interval '31 days')`,
      [person.id, host],
    );
  }
  const waiting = async () => {
    const { rows } = await pool.query(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return rows[0].count;
  };
  const holder = await pool.connect();
  await holder.query("BEGIN");
  await holder.query("SELECT FROM webhook_hosts WHERE host = $1 FOR UPDATE", [second]);
  const pruned = pruneWebhookEndpoints(service.services);
  await expect.poll(waiting).toBe(1);
  const registered = person.post("/webhooks", { url: "https://93.184.215.14/hook", events: ["task.created"] });
  await expect.poll(waiting).toBe(2);
  await holder.query("COMMIT");
  holder.release();
  await pruned;
  expect((await registered).status).toBe(201);
  const { rows } = await pool.query("SELECT host FROM webhook_hosts WHERE host = ANY ($1)", [[first, second]]);
  expect(rows).toEqual([{ host: first }]);
});
