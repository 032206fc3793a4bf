import { createHmac } from "node:crypto";
import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BalanceTooLow,
  IdempotencyKeyReused,
  InvalidEventSignature,
  ProcessorRefused,
  ProcessorUnavailable,
} from "../../server/gateways/processorErrors.ts";
import type { ProcessorEvent } from "../../server/gateways/processorRecords.ts";
import { stripeProcessor } from "../../server/gateways/stripeProcessor.ts";
import {
  type Harness,
  payableAccount,
  payout,
  secretKey,
  startHarness,
  topup,
  transfer,
} from "../local/processorHarness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ timeoutMs: 3_000 });
});
afterAll(() => harness.stop());

async function listed<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

describe("top-ups", () => {
  test("a session carries the amount, our reference and an address to pay at", async () => {
    const session = await harness.gateway.createCheckoutSession(topup({ topupId: "topup-9", amountCents: 1_234 }));
    expect(session).toMatchObject({
      status: "open",
      paymentStatus: "unpaid",
      amountCents: 1_234,
      currency: "usd",
      topupId: "topup-9",
      paymentIntentId: null,
    });
    expect(session.url).toBe(`${harness.url}/checkout/${session.id}`);
    expect(await harness.gateway.getCheckoutSession(session.id)).toEqual(session);
  });

  test("the same key returns the same session, so a repeated call creates no second one", async () => {
    const input = topup();
    const [first, second] = [
      await harness.gateway.createCheckoutSession(input),
      await harness.gateway.createCheckoutSession(input),
    ];
    expect(second).toEqual(first);
  });

  test("a paid session has its payment intent and is listed for the audit, an unpaid one is not", async () => {
    const paid = await harness.gateway.createCheckoutSession(topup());
    const open = await harness.gateway.createCheckoutSession(topup());
    await harness.test("POST", `checkout/${paid.id}/pay`, { outcome: "pays" });
    expect(await harness.gateway.getCheckoutSession(paid.id)).toMatchObject({
      status: "complete",
      paymentStatus: "paid",
      paymentIntentId: expect.stringMatching(/^pi_/),
    });
    const ids = (await listed(harness.gateway.listCheckoutPayments(0))).map(({ id }) => id);
    expect(ids).toContain(paid.id);
    expect(ids).not.toContain(open.id);
  });

  test("lists longer than a page are read to their end", async () => {
    const created = Math.floor(Date.now() / 1_000) - 60;
    const before = (await listed(harness.gateway.listBalanceTransactions(null, created))).length;
    for (let count = 0; count < 130; count += 1) await harness.test("POST", "balance", { amountCents: 1 });
    expect(await listed(harness.gateway.listBalanceTransactions(null, created))).toHaveLength(before + 130);
  });
});

describe("connected accounts", () => {
  test("an account counts as started once its onboarding was begun, and as active only once it is finished", async () => {
    const { gateway } = harness;
    const { accountId } = await gateway.createAccount({
      userId: "user-1",
      email: "bidder@example.com",
      displayName: "Bea",
      idempotencyKey: crypto.randomUUID(),
    });
    const inactive = { accountId, userId: "user-1", transfersActive: false, payoutsActive: false };
    expect(await gateway.getAccount(accountId)).toEqual({ ...inactive, onboardingStarted: false });
    const addresses = { returnUrl: "http://127.0.0.1:3000/back", refreshUrl: "http://127.0.0.1:3000/again" };
    const left = await gateway.createOnboardingLink({ accountId, ...addresses });
    await fetch(left.url, { method: "POST", body: new URLSearchParams({ outcome: "leaves" }), redirect: "manual" });
    expect(await gateway.getAccount(accountId)).toEqual({ ...inactive, onboardingStarted: true });
    const finished = await gateway.createOnboardingLink({ accountId, ...addresses });
    expect(finished.url).not.toBe(left.url);
    expect(finished.expiresAt).toBeGreaterThan(Date.now() / 1_000);
    await fetch(finished.url, { method: "POST", redirect: "manual" });
    const active = { accountId, userId: "user-1", transfersActive: true, payoutsActive: true, onboardingStarted: true };
    expect(await gateway.getAccount(accountId)).toEqual(active);
  });
});

describe("payouts", () => {
  test("money goes from the platform to the account and to the bank, and both movements can be found by our ids", async () => {
    const { gateway } = harness;
    const accountId = await payableAccount(harness);
    const ids = { transferGroup: "group-7", payoutId: "payout-7" };
    const { transferId } = await gateway.createTransfer(transfer(accountId, ids));
    const made = await gateway.createPayout(payout(accountId, { payoutId: "payout-7" }));
    expect(made).toMatchObject({ status: "pending", amountCents: 2_000, payoutId: "payout-7", failureCode: null });
    await expect.poll(() => gateway.getPayout(accountId, made.id)).toMatchObject({ status: "paid" });
    expect(await gateway.findTransfers("group-7")).toMatchObject([
      { transferId, amountCents: 2_000, reversedCents: 0 },
    ]);
    expect(await gateway.findPayouts(accountId, "payout-7")).toMatchObject([{ id: made.id, status: "paid" }]);
    expect(await gateway.findPayouts(accountId, "payout-8")).toEqual([]);
    const booked = await listed(gateway.listBalanceTransactions(accountId, 0));
    expect(booked.map(({ type, amountCents }) => [type, amountCents])).toEqual([
      ["payout", -2_000],
      ["payment", 2_000],
    ]);
  });

  test("a transfer can be reversed after its payout failed", async () => {
    const { gateway } = harness;
    const accountId = await payableAccount(harness, { bank: "fails" });
    const { transferId } = await gateway.createTransfer(transfer(accountId, { transferGroup: "group-8" }));
    const { id } = await gateway.createPayout(payout(accountId));
    await expect
      .poll(() => gateway.getPayout(accountId, id))
      .toMatchObject({
        status: "failed",
        failureCode: "account_closed",
        failureMessage: "The bank account has been closed.",
      });
    await gateway.reverseTransfer({ transferId, amountCents: 2_000, idempotencyKey: crypto.randomUUID() });
    expect(await gateway.findTransfers("group-8")).toMatchObject([{ amountCents: 2_000, reversedCents: 2_000 }]);
  });
});

test("refunds and disputes of a payment can be looked up with their effect on the balance", async () => {
  const { gateway } = harness;
  const paid = async () => {
    const { id } = await gateway.createCheckoutSession(topup());
    await harness.test("POST", `checkout/${id}/pay`);
    return String((await gateway.getCheckoutSession(id)).paymentIntentId);
  };
  const before = await gateway.getBalanceCents(null, "usd");
  const refunded = await paid();
  await harness.test("POST", `charges/${refunded}/refund`, { amountCents: 1_000 });
  expect(await gateway.findRefunds(refunded)).toMatchObject([{ amountCents: 1_000, status: "succeeded" }]);
  expect(await gateway.getBalanceCents(null, "usd")).toBe(before + 4_000);

  const disputed = await paid();
  await harness.test("POST", `charges/${disputed}/dispute`);
  const [dispute] = await gateway.findDisputes(disputed);
  expect(dispute).toMatchObject({ status: "needs_response", movements: [{ amountCents: -5_000 }] });
  await harness.test("POST", `disputes/${dispute?.id}/close`, { outcome: "won" });
  expect(await gateway.findDisputes(disputed)).toMatchObject([
    { status: "won", movements: [{ amountCents: -5_000 }, { amountCents: 5_000 }] },
  ]);
  expect(await gateway.findRefunds(disputed)).toEqual([]);
});

test("a new account keeps its money until we pay it out", async () => {
  const { gateway, url } = harness;
  const accountId = await payableAccount(harness);
  const { hostname: host, port } = new URL(url);
  const stripe = new Stripe(secretKey, { host, port, protocol: "http" });
  const { payments } = await stripe.balanceSettings.retrieve({}, { stripeAccount: accountId });
  expect(payments.payouts?.schedule?.interval).toBe("manual");
  await gateway.createTransfer(transfer(accountId));
  expect(await gateway.getBalanceCents(accountId, "usd")).toBe(2_000);
});

describe("errors", () => {
  test("a platform balance that is too low is a distinct error, and repeating the call takes a new key", async () => {
    const accountId = await payableAccount(harness);
    const input = transfer(accountId, { amountCents: 90_000_000 });
    await expect(harness.gateway.createTransfer(input)).rejects.toThrow(BalanceTooLow);
    await harness.test("POST", "balance", { amountCents: 90_000_000 });
    await expect(harness.gateway.createTransfer(input)).rejects.toThrow(BalanceTooLow);
    const { transferId } = await harness.gateway.createTransfer({ ...input, idempotencyKey: crypto.randomUUID() });
    expect(transferId).toMatch(/^tr_/);
  });

  test("a definite refusal carries Stripe's code", async () => {
    const missing = harness.gateway.getCheckoutSession("cs_test_none");
    await expect(missing).rejects.toMatchObject({ name: "ProcessorRefused", code: "resource_missing" });
    const fraction = harness.gateway.createCheckoutSession(topup({ amountCents: 10.5 }));
    await expect(fraction).rejects.toMatchObject({ name: "ProcessorRefused", code: "parameter_invalid_integer" });
    await expect(fraction).rejects.toThrow(ProcessorRefused);
  });

  test("an account that is not ours is a refusal, not a missing permission of our key", async () => {
    const foreign = harness.gateway.createPayout(payout("acct_none"));
    await expect(foreign).rejects.toMatchObject({ name: "ProcessorRefused", code: "account_invalid" });
  });

  test("a reused key is not a refusal, because its first call may have moved money", async () => {
    const input = topup();
    await harness.gateway.createCheckoutSession(input);
    const other = harness.gateway.createCheckoutSession({ ...input, amountCents: 6_000 });
    await expect(other).rejects.toThrow(IdempotencyKeyReused);
    await expect(other).rejects.toThrow(ProcessorUnavailable);
    await expect(other).rejects.not.toThrow(ProcessorRefused);
  });

  test.each([
    "timeout_before",
    "timeout_after",
    "reset_before",
    "reset_after",
    "conflict",
    "rate_limit",
    "no_permission",
    "server_error",
    "server_error_after",
  ])("%s leaves the outcome open, and the same key settles it with one transfer", async (name) => {
    const accountId = await payableAccount(harness);
    // The SDK itself repeats a request once when the connection was reset.
    await harness.test("POST", "faults", { name, next: name.startsWith("reset") ? 2 : 1, call: "POST /v1/transfers" });
    const input = transfer(accountId, { transferGroup: name });
    await expect(harness.gateway.createTransfer(input)).rejects.toThrow(ProcessorUnavailable);
    const { transferId } = await harness.gateway.createTransfer(input);
    expect(await harness.gateway.findTransfers(name)).toMatchObject([{ transferId }]);
  });

  test("a processor that is down and a wrong secret key both count as unavailable", async () => {
    const settings = { webhookSecrets: [], timeoutMs: 400 };
    const down = stripeProcessor({ ...settings, secretKey, apiBase: "http://127.0.0.1:1" });
    await expect(down.getAccount("acct_1")).rejects.toThrow(ProcessorUnavailable);
    const wrong = stripeProcessor({ ...settings, secretKey: "sk_test_other", apiBase: harness.url });
    await expect(wrong.getAccount("acct_1")).rejects.toThrow(ProcessorUnavailable);
    await expect(listed(wrong.listTransfers(0))).rejects.toThrow(ProcessorUnavailable);
  });
});

describe("events", () => {
  const now = new Date("2026-11-20T12:00:00Z");
  const seconds = now.getTime() / 1_000;
  const body = Buffer.from(
    JSON.stringify({
      object: "event",
      id: "evt_1",
      type: "payout.paid",
      created: 7,
      account: "acct_1",
      data: { object: { id: "po_1" } },
    }),
  );

  function verify(raw: Buffer, secret: string, time: number): Promise<ProcessorEvent> {
    const digest = createHmac("sha256", secret).update(`${time}.${raw}`).digest("hex");
    return stripeProcessor({ secretKey, webhookSecrets: ["whsec_a", "whsec_b"], apiBase: null }).verifyEvent(
      raw,
      `t=${time},v1=${digest}`,
      now,
    );
  }

  test("an event signed with any of the secrets is accepted", async () => {
    const expected = {
      id: "evt_1",
      type: "payout.paid",
      account: "acct_1",
      data: { id: "po_1" },
      relatedObjectId: null,
    };
    await expect(verify(body, "whsec_a", seconds)).resolves.toEqual(expected);
    await expect(verify(body, "whsec_b", seconds - 300)).resolves.toEqual(expected);
  });

  test("a thin event names the object to fetch", async () => {
    const thin = {
      object: "v2.core.event",
      id: "evt_2",
      type: "v2.core.account.updated",
      created: "2026-11-20T12:00:00Z",
    };
    const raw = Buffer.from(JSON.stringify({ ...thin, related_object: { id: "acct_2" } }));
    await expect(verify(raw, "whsec_a", seconds)).resolves.toMatchObject({
      data: null,
      relatedObjectId: "acct_2",
    });
  });

  test("a thin event is accepted whatever its `created` contains", async () => {
    const raw = Buffer.from(JSON.stringify({ object: "v2.core.event", id: "evt_3", type: "v2.x", created: "soon" }));
    await expect(verify(raw, "whsec_a", seconds)).resolves.toMatchObject({
      id: "evt_3",
      data: null,
      relatedObjectId: null,
    });
  });

  test("characters that Postgres cannot store are replaced in strings and field names, and nothing else changes", async () => {
    const sent = {
      "name\u0000": "a\u0000b",
      "\ud800": ["\udc00\ud800", "\ud83d\ude00", '\u0001\n"', "\\u0000 \\\\ud800", -1.5e-7, null, true],
    };
    const kept = {
      "name\ufffd": "a\ufffdb",
      "\ufffd": ["\ufffd\ufffd", "\ud83d\ude00", '\u0001\n"', "\\u0000 \\\\ud800", -1.5e-7, null, true],
    };
    const raw = Buffer.from(JSON.stringify({ object: "event", id: "evt_4\u0000", type: "x", data: { object: sent } }));
    const event = await verify(raw, "whsec_a", seconds);
    expect(event).toEqual({ id: "evt_4\ufffd", type: "x", account: null, data: kept, relatedObjectId: null });
  });

  test("a forged, stale, unsigned or meaningless body is refused", async () => {
    await expect(verify(body, "whsec_c", seconds)).rejects.toThrow(InvalidEventSignature);
    await expect(verify(body, "whsec_a", seconds - 301)).rejects.toThrow(InvalidEventSignature);
    await expect(verify(Buffer.from("{}"), "whsec_a", seconds)).rejects.toThrow(InvalidEventSignature);
    await expect(verify(Buffer.from("not json"), "whsec_a", seconds)).rejects.toThrow(InvalidEventSignature);
    await expect(verify(Buffer.from(""), "whsec_a", seconds)).rejects.toThrow(InvalidEventSignature);
    const gateway = stripeProcessor({ secretKey, webhookSecrets: ["whsec_a"], apiBase: null });
    for (const header of [undefined, "", "t=1", "nonsense"]) {
      await expect(gateway.verifyEvent(body, header, now)).rejects.toThrow(InvalidEventSignature);
    }
  });
});
