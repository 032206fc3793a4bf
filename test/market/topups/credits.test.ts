import { createHmac } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ worker: true });
afterEach(() => expectBooksToBalance(service));

const webhookSecret = "whsec_tests";

function sign(body: string, { secret = webhookSecret, ageSeconds = 0 } = {}): string {
  const time = Math.floor(service.clock.now().getTime() / 1000) - ageSeconds;
  return `t=${time},v1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
}

/** Posts an event as the payment processor would. */
async function postEvent(event: object, signature?: string): Promise<number> {
  const body = JSON.stringify(event);
  const response = await fetch(`${service.url}/processor/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "stripe-signature": signature ?? sign(body) },
    body,
  });
  await response.text();
  return response.status;
}

async function openTopup(user: TestPerson, amountCents = 5_000) {
  const answer = await user.post("/wallet/topup", { amountCents });
  expect(answer.status).toBe(200);
  const [topup] = await service.services.database.query<{ id: string }>(sql`
    SELECT id FROM topups WHERE session_id = ${answer.body.sessionId}`);
  return { id: topup?.id ?? "", ...(answer.body as { checkoutUrl: string; sessionId: string }) };
}

/** An event about a top-up's session, with a new id, in the processor's format. */
function checkoutEvent(
  topup: { id: string; sessionId: string },
  type: "completed" | "async_payment_succeeded" | "async_payment_failed" | "expired",
  changes: Record<string, unknown> = {},
) {
  return {
    id: `evt_${crypto.randomUUID()}`,
    object: "event",
    type: `checkout.session.${type}`,
    created: Math.floor(Date.now() / 1000),
    api_version: "2026-10-29.clover",
    livemode: false,
    data: {
      object: {
        id: topup.sessionId,
        object: "checkout.session",
        client_reference_id: topup.id,
        payment_status: type === "expired" || type === "async_payment_failed" ? "unpaid" : "paid",
        payment_intent: type === "expired" ? null : `pi_${topup.id}`,
        amount_total: 5_000,
        currency: "usd",
        ...changes,
      },
    },
  };
}

const eventually = (assertion: () => Promise<void>) => expect.poll(() => settled(assertion));
const settled = (assertion: () => Promise<void>) =>
  assertion().then(
    () => "as expected",
    (error: unknown) => String(error),
  );

/** Waits until every stored event has been applied. */
async function allApplied(): Promise<void> {
  await eventually(async () => {
    const left = await service.services.database.query(sql`SELECT id FROM processor_events WHERE processed_at IS NULL`);
    expect(left).toEqual([]);
  }).toBe("as expected");
}

const walletOf = async (user: TestPerson) => (await user.get("/wallet")).body;
const entriesOf = async (user: TestPerson) => (await user.get("/wallet/ledger")).body.entries;

test("the same checkout event, ten times in parallel, credits once", async () => {
  const user = await createPerson(service);
  const event = checkoutEvent(await openTopup(user), "completed");
  const statuses = await Promise.all(Array.from({ length: 10 }, () => postEvent(event)));
  expect(statuses).toEqual(Array(10).fill(200));
  await allApplied();
  expect(await postEvent(event)).toBe(200);
  await allApplied();
  expect(await walletOf(user)).toEqual({ availableCents: 5_000, heldCents: 0 });
  expect(await entriesOf(user)).toHaveLength(1);
});

test("different events of one session, in parallel and in any order, credit once", async () => {
  for (let round = 0; round < 5; round++) {
    const user = await createPerson(service);
    const topup = await openTopup(user);
    const events = [
      checkoutEvent(topup, "completed"),
      checkoutEvent(topup, "completed", { payment_status: "unpaid" }),
      checkoutEvent(topup, "async_payment_succeeded"),
      checkoutEvent(topup, "async_payment_succeeded"),
      checkoutEvent(topup, "expired"),
      checkoutEvent(topup, "async_payment_failed"),
    ].sort(() => Math.random() - 0.5);
    const statuses = await Promise.all([...events, ...events].map((event) => postEvent(event)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    await allApplied();
    expect(await walletOf(user)).toEqual({ availableCents: 5_000, heldCents: 0 });
    expect(await entriesOf(user)).toHaveLength(1);
  }
});

test("a session that expired, failed or is not yet paid credits nothing", async () => {
  const user = await createPerson(service);
  await postEvent(checkoutEvent(await openTopup(user), "completed", { payment_status: "unpaid" }));
  await postEvent(checkoutEvent(await openTopup(user), "expired"));
  await postEvent(checkoutEvent(await openTopup(user), "async_payment_failed"));
  await allApplied();
  expect(await walletOf(user)).toEqual({ availableCents: 0, heldCents: 0 });
});

test("an event that does not match its top-up, or that is unknown, is stored and credits nothing", async () => {
  const user = await createPerson(service);
  const events = [
    checkoutEvent(await openTopup(user), "completed", { amount_total: 50_000 }),
    checkoutEvent(await openTopup(user), "completed", { currency: "eur" }),
    checkoutEvent(await openTopup(user), "completed", { payment_intent: null }),
    checkoutEvent({ id: crypto.randomUUID(), sessionId: "cs_unknown" }, "completed"),
    checkoutEvent(await openTopup(user), "expired", { payment_status: "something new" }),
    { ...checkoutEvent(await openTopup(user), "expired"), type: "something.new" },
  ];
  for (const event of events) expect(await postEvent(event)).toBe(200);
  await allApplied();
  expect(await walletOf(user)).toEqual({ availableCents: 0, heldCents: 0 });
  expect(service.errors.splice(0)).toHaveLength(4);
});

describe("a payment that is not this top-up's", () => {
  const outcomeOf = async ({ id }: { id: string }) => {
    const [row] = await service.services.database.query<{ outcome: string }>(sql`
      SELECT outcome FROM processor_events WHERE id = ${id}`);
    return row?.outcome;
  };
  const storedSession = async ({ id }: { id: string }) => {
    const [row] = await service.services.database.query(sql`
      SELECT session_id AS "sessionId", status FROM topups WHERE id = ${id}::uuid`);
    return row;
  };

  test("because it was made to a connected account neither credits nor debits anything", async () => {
    const user = await createPerson(service);
    const [paid, open] = [await openTopup(user), await openTopup(user)];
    await postEvent(checkoutEvent(paid, "completed"));
    await allApplied();
    const refund = { id: "re_x", object: "refund", amount: 5_000, status: "succeeded", balance_transaction: "txn_1" };
    const withdrawn = { id: "txn_2", amount: -5_000 };
    const dispute = { id: "du_x", object: "dispute", balance_transactions: [withdrawn] };
    const told = (type: string, object: object) => ({
      ...checkoutEvent(paid, "completed"),
      type,
      data: { object: { ...object, payment_intent: `pi_${paid.id}` } },
    });
    const events = [
      checkoutEvent(open, "completed"),
      checkoutEvent(open, "expired"),
      told("refund.created", refund),
      told("charge.refunded", { id: "ch_x", object: "charge" }),
      told("charge.dispute.funds_withdrawn", dispute),
    ].map((event) => ({ ...event, account: "acct_attacker" }));
    for (const event of events) expect(await postEvent(event)).toBe(200);
    await allApplied();
    for (const event of events) expect(await outcomeOf(event)).toBe("not ours");
    expect(await walletOf(user)).toEqual({ availableCents: 5_000, heldCents: 0 });
    expect(await storedSession(open)).toEqual({ sessionId: open.sessionId, status: "created" });
  });

  test("because it has another session neither credits nor closes it", async () => {
    const user = await createPerson(service);
    const topup = await openTopup(user);
    for (const type of ["completed", "expired"] as const) {
      const event = checkoutEvent({ id: topup.id, sessionId: "cs_other" }, type);
      expect(await postEvent(event)).toBe(200);
      await allApplied();
      expect(await outcomeOf(event)).toContain("unexpected: cs_other is a second session");
    }
    expect(service.errors.splice(0)).toHaveLength(2);
    expect(await walletOf(user)).toEqual({ availableCents: 0, heldCents: 0 });
    expect(await storedSession(topup)).toEqual({ sessionId: topup.sessionId, status: "created" });
    await postEvent(checkoutEvent(topup, "completed"));
    await allApplied();
    expect(await walletOf(user)).toEqual({ availableCents: 5_000, heldCents: 0 });
  });

  test("is told apart from the top-up's own even while its session is not stored", async () => {
    const user = await createPerson(service);
    const topup = await openTopup(user);
    await service.services.database.query(sql`
      UPDATE topups SET session_id = NULL, next_check_at = 'infinity' WHERE id = ${topup.id}::uuid`);
    // Like a payment link's session: on our account, with a reference that its payer chose.
    const link = await fetch(`${service.processorUrl}/v1/checkout/sessions`, {
      method: "POST",
      headers: { authorization: "Bearer sk_test_tests", "idempotency-key": crypto.randomUUID() },
      body: new URLSearchParams({
        mode: "payment",
        client_reference_id: topup.id,
        success_url: service.url,
        "line_items[0][quantity]": "1",
        "line_items[0][price_data][currency]": "usd",
        "line_items[0][price_data][unit_amount]": "5000",
        "line_items[0][price_data][product_data][name]": "A shirt",
      }),
    });
    const otherId = /cs_\w+/.exec(await link.text())?.[0] ?? "none";
    expect(`${link.status} ${otherId}`).toMatch(/^200 cs_/);
    const events = [
      checkoutEvent({ id: topup.id, sessionId: otherId }, "completed"),
      checkoutEvent({ id: topup.id, sessionId: "cs_made_up" }, "completed"),
    ];
    for (const event of events) expect(await postEvent(event)).toBe(200);
    await allApplied();
    expect(await outcomeOf(events[0] ?? { id: "" })).toBe("not ours");
    expect(await outcomeOf(events[1] ?? { id: "" })).toContain("unexpected: the processor refused");
    expect(service.errors.splice(0)).toHaveLength(1);
    expect(await storedSession(topup)).toEqual({ sessionId: null, status: "created" });

    await fetch(`${topup.checkoutUrl}/pay`, { method: "POST", redirect: "manual" });
    await eventually(async () => {
      expect(await storedSession(topup)).toEqual({ sessionId: topup.sessionId, status: "paid" });
    }).toBe("as expected");
    expect(await walletOf(user)).toEqual({ availableCents: 5_000, heldCents: 0 });
  });
});

describe("an event that is not from the processor is 400 and leaves no trace", () => {
  const traces = () => service.services.database.query(sql`SELECT id FROM processor_events ORDER BY id`);

  test.each<[string, (body: string) => string]>([
    ["signed with another secret", (body) => sign(body, { secret: "whsec_other" })],
    ["signed for another body", () => sign("{}")],
    ["older than five minutes", (body) => sign(body, { ageSeconds: 301 })],
    ["with an empty signature header", () => ""],
    ["with a signature header that makes no sense", () => "nonsense"],
    ["with a signature of the wrong length", () => `t=${Math.floor(Date.now() / 1000)},v1=00`],
    ["with an empty time and an empty signature", () => "t=,v1="],
    ["with a time and an empty signature", () => `t=${Math.floor(Date.now() / 1000)},v1=`],
    ["with names without values", () => "t,v1"],
    ["with a time that is not a number", (body) => sign(body).replace(/t=\d+/, "t=soon")],
    ["with its valid signature under another scheme", (body) => sign(body).replace("v1=", "v0=")],
    ["with raw bytes as the signature", () => `t=${Math.floor(Date.now() / 1000)},v1=\u00ff\u0080\u00fe`],
    ["with thousands of signatures", () => `t=${Math.floor(Date.now() / 1000)}${",v1=".repeat(3_000)}`],
  ])("%s", async (_, signatureOf) => {
    const user = await createPerson(service);
    const event = checkoutEvent(await openTopup(user), "completed");
    const before = await traces();
    expect(await postEvent(event, signatureOf(JSON.stringify(event)))).toBe(400);
    expect(await traces()).toEqual(before);
    expect(await walletOf(user)).toEqual({ availableCents: 0, heldCents: 0 });
  });
});

describe("a top-up through the checkout page", () => {
  async function pay(checkoutUrl: string, outcome: string): Promise<Response> {
    return fetch(`${checkoutUrl}/pay`, { method: "POST", redirect: "manual", body: new URLSearchParams({ outcome }) });
  }

  test("that is paid credits once, and sends the browser back", async () => {
    const user = await createPerson(service);
    const { checkoutUrl } = await openTopup(user, 2_500);
    expect(await (await fetch(checkoutUrl)).text()).toContain("25.00");
    const answers = await Promise.all([pay(checkoutUrl, "pays"), pay(checkoutUrl, "pays"), pay(checkoutUrl, "pays")]);
    const locations = answers.map((answer) => answer.headers.get("location") ?? "");
    expect(locations.some((location) => location.startsWith(`${service.url}/topup/done`))).toBe(true);
    await eventually(async () => {
      expect(await walletOf(user)).toEqual({ availableCents: 2_500, heldCents: 0 });
    }).toBe("as expected");
    await allApplied();
    const [entry, ...others] = await entriesOf(user);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ kind: "topup", bucket: "available", amountCents: 2_500, taskId: null, bidId: null });
  });

  test("that is paid later credits when the money arrives; one that fails later credits nothing", async () => {
    const [user, other] = await Promise.all([createPerson(service), createPerson(service)]);
    await pay((await openTopup(user)).checkoutUrl, "pays_later");
    const failing = await openTopup(other);
    await pay(failing.checkoutUrl, "pays_later_fails");
    await eventually(async () => {
      expect(await walletOf(user)).toEqual({ availableCents: 5_000, heldCents: 0 });
      const [topup] = await service.services.database.query(sql`
        SELECT status FROM topups WHERE id = ${failing.id}::uuid`);
      expect(topup).toEqual({ status: "failed" });
    }).toBe("as expected");
    expect(await walletOf(other)).toEqual({ availableCents: 0, heldCents: 0 });
  });
});
