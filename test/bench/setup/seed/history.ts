import pg from "pg";
import { withoutIndexes, withoutLedgerGuards } from "./bulk.ts";
import { sqlIdOf, sqlTimeOf, taskIdOf, timeOf, userIdOf } from "./identities.ts";
import { FUNDS_CENTS, type MarketSize } from "./market.ts";

export interface HistorySize {
  /** Two for each person in turn, on top of their top-up. */
  ledgerEntries: number;
  /** Each belongs to one person, and is numbered. */
  events: number;
}

/**
 * Adds what years leave behind to a seeded market: a bid for every second task, movements of money, told events. Without
 * triggers, which would take hours, and with the rows that they would have written.
 */
export async function seedHistory(databaseUrl: string, size: MarketSize, history: HistorySize): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, options: "-c TimeZone=UTC" });
  await client.connect();
  await client.query("SET session_replication_role = replica; SET maintenance_work_mem = '512MB'");
  const person = (number: string) => sqlIdOf("user", `1 + (${number}) % ${size.people}`);
  await client.query(
    `INSERT INTO bids (id, task_id, bidder_id, price_cents, eta_hours, status, created_at)
     SELECT ${sqlIdOf("bid", "n")}, ${sqlIdOf("task", "2 * n")}, ${person("7 * n")}, 90, 24, 'withdrawn', ${sqlTimeOf("n")}
     FROM generate_series(1, ${size.tasks / 2}) AS n`,
  );
  await withoutIndexes(client, ["ledger_transfers", "ledger_entries"], () =>
    withoutLedgerGuards(client, () => seedLedger(client, person, history.ledgerEntries, size.people)),
  );
  await client.query("TRUNCATE event_log, event_log_entries, event_log_queue");
  await withoutIndexes(client, ["event_log", "event_log_entries"], () => seedEvents(client, person, history.events));
  await client.query("VACUUM ANALYZE");
  await client.end();
}

type Person = (number: string) => string;

/** Transfers of a cent from `available` to `held`. The versions follow those of the top-up, which is the first. */
async function seedLedger(client: pg.Client, person: Person, entries: number, people: number): Promise<void> {
  const transfers = entries / 2;
  await client.query(
    `INSERT INTO ledger_transfers (id, task_id, created_at)
     SELECT ${sqlIdOf("transfer", "n")}, ${sqlIdOf("task", "1")}, ${sqlTimeOf(`${transfers} - n`)}
     FROM generate_series(1, ${transfers}) AS n`,
  );
  await client.query(
    `INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
     SELECT ${sqlIdOf("entry", "2 * n + later")}, ${sqlIdOf("transfer", "n")}, ${person("n")}, 'hold', bucket, cents,
            start + cents * (1 + (n - 1) / ${people}), 2 + 2 * ((n - 1) / ${people}) + later,
            ${sqlTimeOf(`${transfers} - n`)} + later * interval '1 millisecond'
     FROM generate_series(1, ${transfers}) AS n,
          (VALUES ('available', -1, 0, ${FUNDS_CENTS}), ('held', 1, 1, 0)) AS side (bucket, cents, later, start)`,
  );
  await client.query(
    `UPDATE wallets SET available_cents = available_cents + moved.available, held_cents = held_cents + moved.held,
            version = version + moved.count
     FROM (SELECT user_id, count(*), coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available,
                  coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held
           FROM ledger_entries WHERE kind = 'hold' GROUP BY user_id) AS moved
     WHERE wallets.user_id = moved.user_id`,
  );
}

/** What an event about a task keeps of it. */
const task = {
  ...{ id: taskIdOf(1), title: "Page 1", maxBudgetCents: 100, tags: ["translation"], status: "open", bidCount: 0 },
  ...{
    description: "To be translated.",
    acceptanceCriteria: null,
    buyer: { id: userIdOf(2), displayName: "Person 2" },
  },
  ...{ awardedBidId: null, awardedAt: null, deliveryDueAt: null, deliveredAt: null, acceptanceDeadlineAt: null },
  ...{ acceptedAt: null, closedAt: null, createdAt: timeOf(1), updatedAt: timeOf(1) },
};

async function seedEvents(client: pg.Client, person: Person, events: number): Promise<void> {
  const id = sqlIdOf("event", "n");
  await client.query(
    `INSERT INTO events (id, type, task_id, recipients, data, created_at, fanned_out_at)
     SELECT ${id}, 'task.updated', ${sqlIdOf("task", "1")}, ARRAY[${person("n")}], $1::json, ${sqlTimeOf(`${events} - n`)}, now()
     FROM generate_series(1, ${events}) AS n`,
    [JSON.stringify({ task })],
  );
  await client.query(
    `INSERT INTO event_log (position, event_id, type, recipients)
     SELECT n, ${id}, 'task.updated', ARRAY[${person("n")}] FROM generate_series(1, ${events}) AS n`,
  );
  await client.query(
    `INSERT INTO event_log_entries (user_id, position, type, event_id)
     SELECT ${person("n")}, n, 'task.updated', ${id} FROM generate_series(1, ${events}) AS n`,
  );
  await client.query(
    `UPDATE event_log_state SET last_position = ${events}, last_event_id = ${sqlIdOf("event", String(events))}`,
  );
}
