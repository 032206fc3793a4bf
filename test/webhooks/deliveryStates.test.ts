import { afterAll, beforeAll, expect, test } from "vitest";
import { NIL_UUID, queryOne, type Sql, sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { complete, type Outcome, stopDeliveries } from "../../server/webhooks/complete.ts";
import {
  type DeliveryState,
  deliveryLease,
  deliveryTransitions,
  enter,
  stateColumns,
} from "../../server/webhooks/deliveryStates.ts";
import { releaseHeld, takeHeld } from "../../server/webhooks/held.ts";
import { replayDelivery } from "../../server/webhooks/replay.ts";
import { type LeasedDelivery, promoteDueRetries, takeDue } from "../../server/webhooks/take.ts";
import { createTestDatabase, type TestDatabase } from "../setup/testDatabase.ts";

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase(testDatabase.url, { poolSize: 1 });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const now = new Date("2026-11-20T12:00:00.000Z");
const leasedUntil = "2026-11-20T12:00:15.000000Z";
const host = "example.com:443";

const states: Record<DeliveryState, Parameters<typeof enter>[0]> = {
  ...stateColumns,
  leased: stateColumns.leased(deliveryLease(now, 15)),
  held: stateColumns.held(sql`${host}`),
};

interface Delivery {
  id: string;
  endpointId: string;
}

/** Creates a delivery in this state, which is due, to a host of its own. */
async function createIn(state: DeliveryState, isProven: boolean): Promise<Delivery> {
  await database.query(sql`DELETE FROM webhook_deliveries`);
  await database.query(sql`
    INSERT INTO webhook_hosts (host) VALUES (${host}) ON CONFLICT DO NOTHING`);
  await database.query(sql`
    UPDATE webhook_hosts SET next_request_at = '-infinity',
           answered_at = ${isProven ? now.toISOString() : "-infinity"}::timestamptz`);
  const delivery = await queryOne<Delivery>(
    database,
    sql`
    WITH owner AS (
      INSERT INTO users (email, password_hash, display_name) VALUES (${crypto.randomUUID()}, '', 'Owner') RETURNING id
    ), event AS (
      INSERT INTO events (type, recipients, data, fanned_out_at) VALUES ('task.created', '{}', '{}', now()) RETURNING id
    ), endpoint AS (
      INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret)
      SELECT id, 'https://example.com/', ${host}, '{task.created}', '' FROM owner RETURNING id
    )
    INSERT INTO webhook_deliveries (endpoint_id, event_id, event_type, attempts_left, due_at, created_at)
    SELECT endpoint.id, event.id, 'task.created', 3, ${now.toISOString()}::timestamptz, now() FROM endpoint, event
    RETURNING id, endpoint_id AS "endpointId"`,
  );
  await database.query(sql`UPDATE webhook_deliveries SET ${enter(states[state])} WHERE id = ${delivery.id}::uuid`);
  return delivery;
}

const stateOf = async ({ id }: Delivery): Promise<DeliveryState> => {
  const state: Sql = sql`
    SELECT CASE WHEN status <> 'pending' THEN status WHEN held_for IS NOT NULL THEN 'held' WHEN waiting THEN 'waiting'
                WHEN leased_until > ${now.toISOString()}::timestamptz THEN 'leased' ELSE 'queued' END AS state
    FROM webhook_deliveries WHERE id = ${id}::uuid`;
  return (await queryOne<{ state: DeliveryState }>(database, state)).state;
};

const claim = () =>
  takeDue(database, {
    ...{ limit: 10, lanes: { listed: {}, others: 4, anyFull: false }, afterEndpoint: NIL_UUID, now, leaseSeconds: 15 },
  });

const end = (delivery: Delivery, status: Outcome["status"]) => {
  const claimed: LeasedDelivery = {
    ...{ ...delivery, ownerId: "", eventId: "", attemptsLeft: 3, leasedUntil, url: "", host, signingSecret: "" },
    ...{ provesHost: false, active: true },
  };
  const dueAt = status === "pending" ? now.toISOString() : null;
  const outcome: Outcome = { delivery: claimed, attempt: null, status, attemptsLeft: 2, dueAt, switchOff: false };
  return database.transaction((tx) => complete(tx, [outcome]));
};

/** What makes each transition. */
const moves: Record<keyof typeof deliveryTransitions, (delivery: Delivery) => Promise<unknown>> = {
  take: claim,
  hold: claim,
  release: () => releaseHeld(database, [host]),
  takeHeld: () => takeHeld(database, { hosts: [host], now, leaseSeconds: 15 }),
  succeed: (delivery) => end(delivery, "succeeded"),
  fail: (delivery) => end(delivery, "failed"),
  retryLater: (delivery) => end(delivery, "pending"),
  promote: () => promoteDueRetries(database, now),
  replay: ({ id }) => replayDelivery(database, id, now),
  stop: ({ endpointId }) => stopDeliveries(database, [endpointId]),
};

const all: DeliveryState[] = ["queued", "leased", "waiting", "held", "succeeded", "failed"];

test.each(Object.entries(deliveryTransitions))(
  "%s moves a delivery as the table says, and no other",
  async (name, row) => {
    for (const state of all) {
      const delivery = await createIn(state, name !== "hold");
      await moves[name as keyof typeof moves](delivery); // a key of the table
      const moved = (row.from as readonly DeliveryState[]).includes(state); // wider than the row's own states
      expect([state, await stateOf(delivery)]).toEqual([state, moved ? row.to : state]);
    }
  },
);
