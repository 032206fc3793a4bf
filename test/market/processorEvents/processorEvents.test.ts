import { expect, test } from "vitest";
import type { Processor } from "../../../server/gateways/processor.ts";
import { ProcessorUnavailable } from "../../../server/gateways/processorErrors.ts";
import { signature } from "../../../server/local/processor/model/deliveries.ts";
import { advancePayout } from "../../../server/market/payouts/advance.ts";
import { applyProcessorEvent } from "../../../server/market/processorEvents/apply.ts";
import { readMissedEvents } from "../../../server/market/processorEvents/inbox.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPayee, requestPayout } from "../../factories/payouts.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { paidTopup, type TestTopup } from "../../factories/topups.ts";
import { control, eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

// No worker: the events wait in the inbox, and each test applies them in every order.
const service = useService();

const tables = ["wallets", "ledger_transfers", "ledger_entries", "topups", "payouts", "processor_events"];

/** Saves all money, and returns a function that restores it, past the triggers that protect it. */
async function backup(): Promise<() => Promise<void>> {
  const { pool } = service.owner;
  for (const table of tables)
    await pool.query(`DROP TABLE IF EXISTS old_${table}; CREATE TABLE old_${table} AS TABLE ${table}`);
  return async () => {
    await pool.query(
      `BEGIN; ${[
        ...tables.map((table) => `ALTER TABLE ${table} DISABLE TRIGGER ALL`),
        ...tables.map((table) => `DELETE FROM ${table}`),
        ...tables.map((table) => `INSERT INTO ${table} SELECT * FROM old_${table}`),
        ...tables.map((table) => `ALTER TABLE ${table} ENABLE TRIGGER ALL`),
      ].join(";")}; COMMIT`,
    );
  };
}

/** Waits for an event of each of these types, and returns the ids of those that are not yet applied. */
async function received(types: string[]): Promise<string[]> {
  const rows = await eventually(
    () =>
      service.services.database.query<{ id: string; type: string }>(sql`
        SELECT id, type FROM processor_events WHERE processed_at IS NULL ORDER BY received_at`),
    (all) => types.every((type) => all.some((row) => row.type === type)),
  );
  return rows.filter(({ type }) => types.includes(type)).map(({ id }) => id);
}

/** Every order of up to 5 events, and that many random ones of more; the same at each run. */
function orders<Item>(items: Item[], atMost = 60): Item[][] {
  if (items.length <= 5) return permutations(items);
  let seed = 42;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed / 2 ** 31;
  };
  const shuffled = () =>
    items
      .map((item) => ({ item, key: random() }))
      .sort((a, b) => a.key - b.key)
      .map(({ item }) => item);
  return [items, items.toReversed(), ...Array.from({ length: atMost - 2 }, shuffled)];
}

function permutations<Item>(items: Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

const apply = (eventId: string) => applyProcessorEvent(service.services, { eventId });

/** Marks all events as not applied, so that they report the same facts again. */
const forget = () => service.services.database.query(sql`UPDATE processor_events SET processed_at = NULL`);

/**
 * Applies the events in each order, after some of them once more, and all at the same time; returns the different end
 * states.
 */
async function endStates(eventIds: string[], person: TestPerson, finish = async () => {}): Promise<unknown[]> {
  const restore = await backup();
  const states = new Map<string, unknown>();
  const note = async () => {
    await finish();
    const state = await moneyOf(person);
    states.set(JSON.stringify(state), state);
  };
  for (const [number, order] of orders(eventIds).entries()) {
    await restore();
    for (const eventId of order) await apply(eventId);
    await note();
    if (number % 8 > 0) continue;
    await forget();
    for (const eventId of order.toReversed()) await apply(eventId);
    await note();
  }
  for (let round = 0; round < 10; round++) {
    await restore();
    await Promise.all(eventIds.flatMap((eventId) => [apply(eventId), apply(eventId)]));
    await note();
  }
  return [...states.values()];
}

/** Everything that should not depend on the order: balances, what was booked, states. */
async function moneyOf(person: TestPerson) {
  const { database } = service.services;
  const entries = await database.query<{ kind: string; amountCents: number; externalRef: string }>(sql`
    SELECT e.kind, e.amount_cents AS "amountCents", t.external_ref AS "externalRef"
    FROM ledger_entries e JOIN ledger_transfers t ON t.id = e.transfer_id
    WHERE e.user_id = ${person.id}::uuid AND e.bucket = 'available' AND e.kind <> 'adjustment' ORDER BY t.external_ref`);
  const wallet = (await person.get("/wallet")).body;
  const debts = await database.query(sql`SELECT debt_cents FROM wallets WHERE user_id = ${person.id}::uuid`);
  const topups = await database.query(sql`SELECT status FROM topups WHERE user_id = ${person.id}::uuid ORDER BY id`);
  const payouts = await database.query(sql`
    SELECT state, failure_code FROM payouts WHERE user_id = ${person.id}::uuid ORDER BY id`);
  return { wallet, debts, topups, payouts, entries };
}

const kindsOf = (state: unknown) =>
  (state as Awaited<ReturnType<typeof moneyOf>>).entries
    .map(({ kind, amountCents }) => `${kind} ${amountCents}`)
    .toSorted();

test("a slow payment, its refund and the refund's failure have the same result in any order", async () => {
  const person = await createPerson(service);
  const topup = await paidTopup(service, person, 5_000, "pays_later");
  await received(["checkout.session.completed", "checkout.session.async_payment_succeeded"]);
  const { refund } = await control<{ refund: { id: string } }>(service, "POST", `charges/${topup.sessionId}/refund`, {
    amountCents: 2_000,
  });
  await control(service, "POST", `refunds/${refund.id}/fail`);
  const eventIds = await received([
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "refund.created",
    "charge.refunded",
    "refund.updated",
    "refund.failed",
  ]);
  expect(eventIds).toHaveLength(6);
  const states = await endStates(eventIds, person);
  expect(states).toHaveLength(1);
  expect(states[0]).toMatchObject({ wallet: { availableCents: 5_000 }, topups: [{ status: "paid" }] });
  expect(kindsOf(states[0])).toEqual(["topup 5000", "topup_refund -2000", "topup_refund 2000"]);
});

test("a dispute that is won has the same result in any order", async () => {
  const person = await createPerson(service);
  const { topup, disputeId } = await disputed(person);
  await control(service, "POST", `disputes/${disputeId}/close`, { outcome: "won" });
  const eventIds = await received(disputeEvents);
  expect(eventIds).toHaveLength(5);
  const states = await endStates(eventIds, person);
  expect(topup.amountCents).toBe(6_000);
  expect(states).toHaveLength(1);
  expect(states[0]).toMatchObject({ wallet: { availableCents: 6_000 }, debts: [{ debt_cents: 0 }] });
  expect(kindsOf(states[0])).toEqual(["chargeback -6000", "chargeback 6000", "topup 6000"]);
});

const disputeEvents = [
  "checkout.session.completed",
  "charge.dispute.created",
  "charge.dispute.funds_withdrawn",
  "charge.dispute.funds_reinstated",
  "charge.dispute.closed",
];

async function disputed(person: TestPerson): Promise<{ topup: TestTopup; disputeId: string }> {
  await service.services.database.query(
    sql`UPDATE processor_events SET processed_at = now() WHERE processed_at IS NULL`,
  );
  const topup = await paidTopup(service, person, 6_000);
  const { dispute } = await control<{ dispute: { id: string } }>(service, "POST", `charges/${topup.sessionId}/dispute`);
  return { topup, disputeId: dispute.id };
}

test("a lost dispute takes the money once, in any order", async () => {
  const person = await createPerson(service);
  const { disputeId } = await disputed(person);
  await control(service, "POST", `disputes/${disputeId}/close`, { outcome: "lost" });
  const eventIds = await received(disputeEvents.filter((type) => !type.endsWith("reinstated")));
  const states = await endStates(eventIds, person);
  expect(states).toHaveLength(1);
  expect(states[0]).toMatchObject({ wallet: { availableCents: 0 }, debts: [{ debt_cents: 0 }] });
});

test("a payout that was paid and then failed has the same result in any order, even if the answer to its call was lost", async () => {
  await service.services.database.query(
    sql`UPDATE processor_events SET processed_at = now() WHERE processed_at IS NULL`,
  );
  const payee = await createPayee(service, { cents: 5_000, bank: "fails_after_paid" });
  await requestPayout(payee, 3_000);
  const [payout] = (await payee.get("/payouts")).body.payouts;
  await control(service, "POST", "faults", { name: "server_error_after", next: 1, call: "POST /v1/payouts" });
  await advancePayout(service.services, { payoutId: payout.id });
  await advancePayout(service.services, { payoutId: payout.id });
  const eventIds = await received([
    "transfer.created",
    "payout.created",
    "payout.updated",
    "payout.paid",
    "payout.failed",
  ]);
  expect(eventIds).toHaveLength(5);
  const states = await endStates(eventIds, payee, async () => {
    // The way back is a call of its own: it is repeated under new keys here, and moves the money once all the same.
    // Due for a second: the service's clock counts milliseconds, so the database's own time can be a little ahead of it.
    await service.services.database.query(
      sql`UPDATE payouts SET next_step_at = now() - interval '1 second' WHERE next_step_at IS NOT NULL`,
    );
    await advancePayout(service.services, { payoutId: payout.id });
  });
  expect(states).toHaveLength(1);
  expect(states[0]).toMatchObject({
    wallet: { availableCents: 5_000 },
    payouts: [{ state: "failed", failure_code: "account_closed" }],
  });
  expect(await service.services.processor.findPayouts(payee.accountId, payout.id)).toHaveLength(1);
  expect(await service.services.processor.findTransfers(payout.id)).toMatchObject([{ reversedCents: 3_000 }]);
  // Refusals of the repeated reversals were logged at most as warnings.
  expect(service.errors).toEqual([]);
});

test("a refund waits for its payment to become known, unless it belongs to other business of the account", async () => {
  await service.services.database.query(
    sql`UPDATE processor_events SET processed_at = now() WHERE processed_at IS NULL`,
  );
  const person = await createPerson(service);
  const topup = await paidTopup(service, person, 5_000);
  await control(service, "POST", `charges/${topup.sessionId}/refund`, { amountCents: 2_000 });
  const [paid] = await received(["checkout.session.completed"]);
  const refunds = await received(["refund.created", "charge.refunded"]);
  expect(refunds).toHaveLength(2);
  const { services } = service;
  const applyWhile = async (findCheckoutSession: Processor["findCheckoutSession"], eventId: string) => {
    const processor = { ...services.processor, findCheckoutSession };
    await applyProcessorEvent({ ...services, processor }, { eventId });
    const [row] = await services.database.query<{ outcome: string | null; waits: boolean }>(sql`
      SELECT outcome, processed_at IS NULL AND next_attempt_at > clock_timestamp() AS waits
      FROM processor_events WHERE id = ${eventId}`);
    return row;
  };
  for (const eventId of refunds) {
    const unpaid = async (intent: string) => {
      const session = await services.processor.findCheckoutSession(intent);
      return session && { ...session, paymentStatus: "unpaid" };
    };
    expect(await applyWhile(unpaid, eventId)).toEqual({ outcome: null, waits: true });
    const foreign = async (intent: string) => {
      const session = await services.processor.findCheckoutSession(intent);
      return session && { ...session, id: "cs_other", topupId: null };
    };
    const restore = await backup();
    expect(await applyWhile(foreign, eventId)).toEqual({ outcome: "not ours", waits: false });
    await restore();
  }
  expect((await person.get("/wallet")).body.availableCents).toBe(0);
  await apply(paid ?? "");
  for (const eventId of refunds) await apply(eventId);
  expect((await person.get("/wallet")).body.availableCents).toBe(3_000);
});

test("missed events are stored page by page, and a list that breaks off is read again from its beginning", async () => {
  const { services } = service;
  const { database } = services;
  const kept = async () =>
    (await database.query(sql`SELECT id FROM processor_events WHERE id LIKE 'evt_missed_%'`)).length;
  const keptAtEach: number[] = [];
  const read = async (breaksAt: number) => {
    async function* listEvents() {
      for (let number = 0; number < 250; number++) {
        if (number === breaksAt) throw new ProcessorUnavailable("gone");
        if (number % 100 === 50) keptAtEach.push(await kept());
        const none = { account: null, data: {}, relatedObjectId: null };
        yield { id: `evt_missed_${number}`, type: "unheard.of", ...none };
      }
    }
    await database.query(sql`UPDATE processor_event_reads SET next_read_at = '-infinity'`);
    await readMissedEvents({ ...services, processor: { ...services.processor, listEvents } });
    const [row] = await database.query<{ readUntil: string }>(sql`
      SELECT read_until AS "readUntil" FROM processor_event_reads`);
    return row?.readUntil;
  };
  const before = await read(0);
  expect(await read(210)).toBe(before);
  expect(keptAtEach).toEqual([0, 100]);
  expect(await kept()).toBe(200);
  expect(await read(251)).not.toBe(before);
  expect(await kept()).toBe(250);
});

test("a missed event is stored whatever its fields contain, and those after it are read", async () => {
  const { services } = service;
  const { database, processor } = services;
  await control(service, "POST", "faults", { name: "event_drop", share: 1 });
  const ids: string[] = [];
  for (const userId of ["before", "a\u0000b", "after"]) {
    const topupId = `other business ${crypto.randomUUID()}`;
    const addresses = { successUrl: service.url, cancelUrl: service.url };
    const order = { topupId, userId, amountCents: 500, currency: "usd", ...addresses, idempotencyKey: topupId };
    const { id } = await processor.createCheckoutSession(order);
    await control(service, "POST", `checkout/${id}/expire`);
    ids.push(id);
  }
  await control(service, "DELETE", "faults");
  await database.query(sql`UPDATE processor_event_reads SET next_read_at = '-infinity'`);
  await readMissedEvents(services);
  const kept = await database.query<{ userId: string }>(sql`
    SELECT payload #>> '{data,metadata,userId}' AS "userId" FROM processor_events
    WHERE payload #>> '{data,id}' = ANY (${ids}::text[]) ORDER BY "userId"`);
  expect(kept.map(({ userId }) => userId)).toEqual(["after", "a\ufffdb", "before"]);
});

test("an event that is not understood is stored, answered and ignored", async () => {
  const { database } = service.services;
  for (const type of [
    "unheard.of",
    "checkout.session.unheard_of",
    "payout.unheard_of",
    "v2.core.account[x].unheard_of",
  ]) {
    await database.query(sql`
      INSERT INTO processor_events (id, type, payload)
      VALUES (${type}, ${type}, ${JSON.stringify({
        id: type,
        type,
        account: "acct_none",
        data: { id: "x", status: "odd", payment_status: "odd", amount_reversed: 0 },
        relatedObjectId: type.startsWith("v2") ? "acct_none" : null,
      })}::jsonb)`);
    await apply(type);
    const [row] = await database.query<{ processed: boolean }>(sql`
      SELECT processed_at IS NOT NULL AS processed FROM processor_events WHERE id = ${type}`);
    expect(row).toEqual({ processed: true });
  }
  service.errors.length = 0; // a session without a top-up of ours is logged as unexpected
});

test("a genuine event is stored, answered and processed, whatever its fields contain", async () => {
  const snapshot = { object: "event", type: "unheard.of", created: 1 };
  const thin = { object: "v2.core.event", type: "v2.core.unheard_of" };
  const events = [
    { ...snapshot, id: "evt_nul", data: { object: { metadata: { "a\u0000": "b\u0000" } } } },
    { ...snapshot, id: "evt_lone", data: { object: { metadata: { "\ud800": "\udfff" } } } },
    { ...thin, id: "evt_timeless" },
    { ...thin, id: "evt_when", created: "the day before yesterday" },
  ];
  for (const event of events) {
    const body = JSON.stringify(event);
    const headers = { "stripe-signature": signature(body, "whsec_tests", Math.floor(Date.now() / 1000)) };
    const { status } = await fetch(`${service.url}/processor/events`, { method: "POST", body, headers });
    expect(`${event.id} ${status}`).toBe(`${event.id} 200`);
    await apply(event.id);
    const [row] = await service.services.database.query(sql`
      SELECT outcome FROM processor_events WHERE id = ${event.id} AND processed_at IS NOT NULL`);
    expect(row).toEqual({ outcome: "unknown type" });
  }
});

test("a forged, a stale and an unsigned event are 400 and leave no trace; a genuine one that arrives twice is stored once", async () => {
  const body = JSON.stringify({
    object: "event",
    id: "evt_signed",
    type: "unheard.of",
    created: 1,
    data: { object: {} },
  });
  const nowSeconds = Math.floor(Date.now() / 1000);
  const send = async (header: string | null) => {
    const headers = header === null ? undefined : { "stripe-signature": header };
    const response = await fetch(`${service.url}/processor/events`, { method: "POST", body, headers });
    return response.status;
  };
  const count = async () =>
    (await service.services.database.query(sql`SELECT 1 FROM processor_events WHERE id = 'evt_signed'`)).length;
  expect(await send(null)).toBe(400);
  expect(await send(signature(body, "whsec_other", nowSeconds))).toBe(400);
  expect(await send(signature(body, "whsec_tests", nowSeconds - 301))).toBe(400);
  expect(await count()).toBe(0);
  const statuses = await Promise.all(Array.from({ length: 8 }, () => send(signature(body, "whsec_tests", nowSeconds))));
  expect(statuses).toEqual(statuses.map(() => 200));
  expect(await count()).toBe(1);
});
