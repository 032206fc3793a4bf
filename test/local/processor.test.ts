import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Stripe from "stripe";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkoutOutcomes } from "../../server/local/processor/model/choices.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { type Harness, payableAccount, payout, secretKey, startHarness, topup, transfer } from "./processorHarness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());
beforeEach(() => void harness.events.splice(0));

function stripeClient(): Stripe {
  const { hostname, port } = new URL(harness.url);
  return new Stripe(secretKey, { host: hostname, port, protocol: "http", maxNetworkRetries: 0, timeout: 30_000 });
}

const key = () => ({ idempotencyKey: crypto.randomUUID() });

/** Sends a raw request that the SDK would not send. */
async function raw(path: string, options: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
  const { method = "POST", body = "", headers = {} } = options;
  const response = await fetch(`${harness.url}${path}`, {
    method,
    ...(method === "GET" ? {} : { body }),
    headers: {
      Authorization: `Bearer ${secretKey}`,
      "Content-Type": path.startsWith("/v2") ? "application/json" : "application/x-www-form-urlencoded",
      "Stripe-Version": Stripe.API_VERSION,
      "Idempotency-Key": crypto.randomUUID(),
      ...headers,
    },
  });
  return { status: response.status, headers: response.headers, error: errorOf(await response.text()) };
}

function errorOf(body: string): { code?: string; param?: string; type?: string } {
  return JSON.parse(body).error;
}

async function balanceCents(account?: string): Promise<number> {
  const balance = await stripeClient().balance.retrieve({}, account === undefined ? {} : { stripeAccount: account });
  return balance.available.reduce((sum, { amount }) => sum + amount, 0);
}

function types(): string[] {
  return harness.events.map(({ type }) => type);
}

describe("strictness: requests that Stripe would refuse are refused", () => {
  test.each([
    [
      "an unknown parameter",
      "/v1/transfers",
      "colour=red&currency=usd&destination=acct_1",
      "parameter_unknown",
      "colour",
    ],
    [
      "an unknown nested one",
      "/v1/checkout/sessions",
      "line_items[0][size]=1",
      "parameter_unknown",
      "line_items[0][size]",
    ],
    ["a prototype's name", "/v1/transfers", "__proto__=1", "parameter_unknown", "__proto__"],
    ["a missing parameter", "/v1/transfers", "currency=usd", "parameter_missing", "destination"],
    ["text for an amount", "/v1/payouts", "amount=abc&currency=usd", "parameter_invalid_integer", "amount"],
    ["a fraction of a cent", "/v1/payouts", "amount=1.5&currency=usd", "parameter_invalid_integer", "amount"],
    ["a word outside a list", "/v1/payouts", "amount=1&currency=usd&method=slow", undefined, "method"],
    ["a word where a list belongs", "/v1/transfers", "currency=usd&destination=a&expand=x", undefined, "expand"],
    ["one name twice", "/v1/transfers", "currency=usd&currency=eur", "parameter_unknown", "currency"],
    [
      "what this processor lacks",
      "/v1/payouts",
      "amount=1&currency=usd&method=instant",
      "parameter_unsupported",
      "method",
    ],
  ])("%s", async (_name, path, body, code, parameter) => {
    const { status, error } = await raw(path, { body });
    expect({ status, code: error.code, parameter: error.param }).toEqual({ status: 400, code, parameter });
  });

  test("JSON bodies and queries are validated as well", async () => {
    const json = await raw("/v2/core/account_links", { body: JSON.stringify({ account: 7 }) });
    expect(json).toMatchObject({ status: 400, error: { code: "invalid_fields" } });
    expect(await raw("/v2/core/account_links", { body: "{" })).toMatchObject({ status: 400 });
    expect(await raw("/v1/transfers?limit=101", { method: "GET" })).toMatchObject({ status: 400 });
    expect(await raw("/v1/transfers?limits=1", { method: "GET" })).toMatchObject({
      error: { code: "parameter_unknown" },
    });
  });

  test("a wrong key, version, path or content type is refused", async () => {
    expect((await raw("/v1/balance", { method: "GET", headers: { Authorization: "Bearer sk_live" } })).status).toBe(
      401,
    );
    expect((await raw("/v1/balance", { method: "GET", headers: { Authorization: "" } })).status).toBe(401);
    const old = await raw("/v1/balance", { method: "GET", headers: { "Stripe-Version": "2019-01-01" } });
    expect(old.status).toBe(400);
    expect((await raw("/v1/customers", { method: "GET" })).status).toBe(404);
    expect((await raw("/v1/transfers", { headers: { "Content-Type": "application/json" }, body: "{}" })).status).toBe(
      400,
    );
  });

  test("a POST without an idempotency key is refused, even if the SDK generates one", async () => {
    const withoutKey = await raw("/v1/refunds", { headers: { "Idempotency-Key": "" }, body: "charge=ch_1" });
    expect(withoutKey).toMatchObject({ status: 400, error: { type: "idempotency_error" } });
    const invented = stripeClient().transfers.create({ currency: "usd", destination: "acct_1", amount: 1 });
    await expect(invented).rejects.toMatchObject({ rawType: "idempotency_error" });
  });
});

test("another account's objects are not accessible, and a call for the platform cannot be made for an account", async () => {
  const accountId = await payableAccount(harness);
  const unknown = await raw("/v1/payouts", { method: "GET", headers: { "Stripe-Account": "acct_none" } });
  expect(unknown).toMatchObject({ status: 403, error: { code: "account_invalid" } });
  const foreign = await raw("/v1/transfers", { body: "", headers: { "Stripe-Account": accountId } });
  expect(foreign.status).toBe(400);
  await harness.gateway.createTransfer(transfer(accountId));
  const { id } = await harness.gateway.createPayout(payout(accountId));
  const other = await payableAccount(harness);
  await expect(harness.gateway.getPayout(other, id)).rejects.toMatchObject({ code: "resource_missing" });
});

describe("idempotency", () => {
  test("a stored answer is replayed, even after a restart", async () => {
    const accountId = await payableAccount(harness);
    const input = transfer(accountId);
    const first = await harness.gateway.createTransfer(input);
    await harness.restart();
    expect(await harness.gateway.createTransfer(input)).toEqual(first);
    expect(await balanceCents(accountId)).toBe(2_000);
  });

  test("an error during execution is stored too, an error in the parameters is not", async () => {
    const accountId = await payableAccount(harness, { platformCents: 0 });
    await harness.test("POST", "balance", { amountCents: 1_000 - (await balanceCents()) });
    const body = `currency=usd&destination=${accountId}&amount=1001`;
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expect((await raw("/v1/transfers", { body: "amount=1", headers })).error.code).toBe("parameter_missing");
    expect((await raw("/v1/transfers", { body, headers })).error.code).toBe("balance_insufficient");
    await harness.test("POST", "balance", { amountCents: 1 });
    const again = await raw("/v1/transfers", { body, headers });
    expect(again.error.code).toBe("balance_insufficient");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  test("a key expires after 24 hours: then the same call pays twice, as at Stripe", async () => {
    const accountId = await payableAccount(harness);
    const input = transfer(accountId);
    const first = await harness.gateway.createTransfer(input);
    harness.advance(24 * 3_600_000 + 1_000);
    expect(await harness.gateway.createTransfer(input)).not.toEqual(first);
  });

  test("a second request with a key that is in progress gets 409", async () => {
    const accountId = await payableAccount(harness);
    await harness.test("POST", "faults", { name: "timeout_after", next: 1 });
    const input = { destination: accountId, currency: "usd", amount: 10 };
    const options = key();
    const slow = stripeClient().transfers.create(input, { ...options, timeout: 500 });
    await Promise.all([
      expect(slow).rejects.toThrow("timeout"),
      (async () => {
        await expect.poll(() => balanceCents(accountId)).toBe(10);
        await expect(stripeClient().transfers.create(input, options)).rejects.toMatchObject({ statusCode: 409 });
      })(),
    ]);
    await expect.poll(() => stripeClient().transfers.create(input, options)).toMatchObject({ amount: 10 });
    expect(await balanceCents(accountId)).toBe(10);
  });
});

describe("checkout", () => {
  const afterwards: Record<string, { paid: boolean; kept: number; events: string[] }> = {
    pays: { paid: true, kept: 1, events: ["checkout.session.completed"] },
    declined: { paid: false, kept: 0, events: [] },
    pays_later: {
      paid: true,
      kept: 1,
      events: ["checkout.session.completed", "checkout.session.async_payment_succeeded"],
    },
    pays_later_fails: {
      paid: false,
      kept: 0,
      events: ["checkout.session.completed", "checkout.session.async_payment_failed"],
    },
    disputed: { paid: true, kept: 0, events: ["charge.dispute.created", "charge.dispute.funds_withdrawn"] },
    disputed_won: { paid: true, kept: 1, events: ["charge.dispute.funds_reinstated", "charge.dispute.closed"] },
    disputed_lost: { paid: true, kept: 0, events: ["charge.dispute.closed"] },
    refunded: { paid: true, kept: 0, events: ["charge.refunded", "refund.created"] },
    refunded_half: { paid: true, kept: 0.5, events: ["charge.refunded", "refund.created"] },
  };

  test.each(checkoutOutcomes)("$name, by its name and by its card: $description", async ({ name, card }) => {
    const expected = afterwards[name];
    for (const form of [new URLSearchParams({ outcome: name }), new URLSearchParams({ card })]) {
      harness.events.splice(0);
      const before = await balanceCents();
      const session = await harness.gateway.createCheckoutSession(topup());
      const response = await fetch(`${session.url}/pay`, {
        method: "POST",
        body: form,
        redirect: "manual",
      });
      const address = name === "declined" ? null : `http://127.0.0.1:3000/wallet?session=${session.id}`;
      expect([response.status, response.headers.get("location")]).toEqual([name === "declined" ? 402 : 303, address]);
      await expect.poll(types).toEqual(expect.arrayContaining(expected?.events ?? []));
      const { paymentStatus } = await harness.gateway.getCheckoutSession(session.id);
      expect(paymentStatus).toBe(expected?.paid ? "paid" : "unpaid");
      expect(await balanceCents()).toBe(before + 5_000 * (expected?.kept ?? 0));
    }
  });

  test("a session is paid only once, and its page says so", async () => {
    const session = await harness.gateway.createCheckoutSession(topup());
    const pay = () => fetch(`${session.url}/pay`, { method: "POST", redirect: "manual" });
    const statuses = (await Promise.all([pay(), pay(), pay()])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([303, 409, 409]);
    expect(await (await fetch(String(session.url))).text()).toContain("This payment is complete");
    await expect(harness.test("POST", `checkout/${session.id}/pay`)).rejects.toThrow("complete");
  });

  test("a session that nobody pays expires automatically and can no longer be paid", async () => {
    const session = await harness.gateway.createCheckoutSession(topup());
    harness.advance(24 * 3_600_000);
    await fetch(harness.url);
    await expect.poll(types).toContain("checkout.session.expired");
    expect(await harness.gateway.getCheckoutSession(session.id)).toMatchObject({ status: "expired", url: null });
    expect(await (await fetch(String(session.url))).text()).toContain("expired");
    expect((await fetch(`${session.url}/pay`, { method: "POST" })).status).toBe(409);
  });

  test("text from strangers appears on a page as text, not as HTML", async () => {
    const cancelUrl = 'http://127.0.0.1/"><script>alert(1)</script>';
    const { url } = await harness.gateway.createCheckoutSession(topup({ cancelUrl }));
    expect(await (await fetch(String(url))).text()).not.toContain("<script>");
  });

  test("another site cannot press the buttons", async () => {
    const { url } = await harness.gateway.createCheckoutSession(topup());
    const options = { method: "POST", headers: { Origin: "https://evil.example" } };
    expect((await fetch(`${url}/pay`, options)).status).toBe(403);
  });
});

describe("onboarding", () => {
  async function newLink() {
    const { gateway } = harness;
    const accountId = await payableAccount(harness);
    await harness.test("POST", `accounts/${accountId}/capabilities`, { status: "restricted" });
    const addresses = { returnUrl: "http://127.0.0.1:3000/back", refreshUrl: "http://127.0.0.1:3000/again" };
    return { accountId, url: (await gateway.createOnboardingLink({ accountId, ...addresses })).url };
  }
  const visit = (url: string, form?: Record<string, string>) =>
    fetch(url, {
      redirect: "manual",
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
    });

  test.each([
    ["finishes", true],
    ["leaves", false],
    ["stays_incomplete", false],
  ])("%s: transfers active %s, and the browser returns", async (outcome, active) => {
    const { accountId, url } = await newLink();
    expect((await visit(url)).status).toBe(200);
    const response = await visit(url, { outcome });
    expect(response.headers.get("location")).toBe("http://127.0.0.1:3000/back");
    expect(await harness.gateway.getAccount(accountId)).toMatchObject({
      transfersActive: active,
      payoutsActive: active,
    });
  });

  test("an incomplete account becomes active when onboarding is repeated", async () => {
    const { accountId, url } = await newLink();
    await visit(url, { outcome: "stays_incomplete" });
    const addresses = { returnUrl: "http://127.0.0.1:3000/back", refreshUrl: "http://127.0.0.1:3000/again" };
    const again = await harness.gateway.createOnboardingLink({ accountId, ...addresses });
    await visit(again.url, { outcome: "finishes" });
    expect(await harness.gateway.getAccount(accountId)).toMatchObject({ transfersActive: true, payoutsActive: true });
  });

  test("a link works once and for five minutes; after that it redirects to the refresh URL", async () => {
    const used = await newLink();
    await visit(used.url, { outcome: "leaves" });
    expect((await visit(used.url)).headers.get("location")).toBe("http://127.0.0.1:3000/again");
    const late = await newLink();
    harness.advance(300_000);
    expect((await visit(late.url, { outcome: "finishes" })).headers.get("location")).toBe(
      "http://127.0.0.1:3000/again",
    );
    expect(await harness.gateway.getAccount(late.accountId)).toMatchObject({ transfersActive: false });
  });

  test("a change of capabilities is announced by thin events without state", async () => {
    const { accountId, url } = await newLink();
    await visit(url, { outcome: "finishes" });
    const type = "v2.core.account[configuration.recipient].capability_status_updated";
    // Events of other tests' accounts may still arrive.
    const told = () => harness.events.find((event) => event.type === type && event.relatedObjectId === accountId);
    await expect.poll(told).toMatchObject({ data: null });
    const listed = await stripeClient().v2.core.events.list({ object_id: accountId, types: [type], limit: 1 });
    expect(listed.data[0]).toMatchObject({ type, related_object: { id: accountId } });
    expect(listed.next_page_url).not.toBeNull();
    let count = 0;
    for await (const _ of stripeClient().v2.core.events.list({ object_id: accountId, types: [type], limit: 1 }))
      count += 1;
    expect(count).toBeGreaterThan(2);
  });

  test("an account without the capability cannot be paid", async () => {
    const { accountId } = await newLink();
    const sent = harness.gateway.createTransfer(transfer(accountId));
    await expect(sent).rejects.toMatchObject({ code: "insufficient_capabilities_for_transfer" });
    await expect(harness.gateway.createPayout(payout(accountId))).rejects.toMatchObject({
      code: "payouts_not_allowed",
    });
  });
});

describe("transfers and payouts", () => {
  test("parallel transfers never exceed the platform's balance", async () => {
    const accountId = await payableAccount(harness, { platformCents: 0 });
    await harness.test("POST", "balance", { amountCents: 10_000 - (await balanceCents()) });
    const attempts = Array.from({ length: 20 }, () => harness.gateway.createTransfer(transfer(accountId)));
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect([await balanceCents(), await balanceCents(accountId)]).toEqual([0, 10_000]);
  });

  test("a reversal exceeds neither the transfer nor the account's balance", async () => {
    const accountId = await payableAccount(harness);
    const { transferId } = await harness.gateway.createTransfer(transfer(accountId));
    const reverse = (amountCents: number) =>
      harness.gateway.reverseTransfer({ transferId, amountCents, idempotencyKey: crypto.randomUUID() });
    await expect(reverse(2_001)).rejects.toMatchObject({ code: "amount_too_large" });
    await harness.gateway.createPayout(payout(accountId, { amountCents: 1_500 }));
    await expect(reverse(2_000)).rejects.toMatchObject({ code: "balance_insufficient" });
    await reverse(500);
    expect(await balanceCents(accountId)).toBe(0);
  });

  test.each([
    ["pays", 2_000, ["payout.created", "payout.updated", "payout.paid"], 0],
    ["fails", 2_000, ["payout.created", "payout.updated", "payout.failed"], 2_000],
    ["fails_after_paid", 2_000, ["payout.created", "payout.updated", "payout.paid", "payout.failed"], 2_000],
    ["never_arrives", 2_000, ["payout.created", "payout.updated"], 0],
    ["pays", 1_313, ["payout.created", "payout.updated", "payout.failed"], 1_313],
    ["pays", 1_314, ["payout.created", "payout.updated", "payout.paid", "payout.failed"], 1_314],
    ["pays", 1_315, ["payout.created", "payout.updated"], 0],
    ["pays", 1_316, ["payout.created", "payout.canceled"], 1_316],
  ])(
    "a bank account that %s, an amount of %i: %j, and %i cents are left",
    async (bank, amountCents, expected, left) => {
      const accountId = await payableAccount(harness, { bank });
      await harness.gateway.createTransfer(transfer(accountId, { amountCents }));
      await harness.gateway.createPayout(payout(accountId, { amountCents }));
      const seen = () => harness.events.filter(({ account }) => account === accountId).map(({ type }) => type);
      await expect.poll(() => seen().sort()).toEqual([...expected].sort());
      expect(await balanceCents(accountId)).toBe(left);
    },
  );

  test("an account whose payout schedule is not manual is paid out automatically", async () => {
    const accountId = await payableAccount(harness);
    const options = { ...key(), stripeAccount: accountId };
    await stripeClient().balanceSettings.update(
      { payments: { payouts: { schedule: { interval: "daily" } } } },
      options,
    );
    await harness.gateway.createTransfer(transfer(accountId));
    await expect.poll(() => balanceCents(accountId)).toBe(0);
    const [made] = (await stripeClient().payouts.list({}, { stripeAccount: accountId })).data;
    expect(made).toMatchObject({ amount: 2_000, automatic: true });
  });

  test("every balance is the sum of its balance transactions", async () => {
    const { gateway } = harness;
    const accounts = await stripeClient().v2.core.accounts.list({ limit: 100 });
    for (const id of [null, ...accounts.data.map((account) => account.id)]) {
      let sum = 0;
      for await (const { amountCents } of gateway.listBalanceTransactions(id, 0)) sum += amountCents;
      expect(sum).toBe(await balanceCents(id ?? undefined));
    }
  });
});

describe("events", () => {
  test("an event is sent until it has been received, even across a restart", async () => {
    harness.answerEventsWith(503);
    const session = await harness.gateway.createCheckoutSession(topup());
    await harness.test("POST", `checkout/${session.id}/pay`);
    await harness.restart();
    expect(types()).toEqual([]);
    harness.answerEventsWith(200);
    await harness.restart();
    await expect.poll(types).toContain("checkout.session.completed");
    expect(await harness.test("GET", "events")).toMatchObject({ pending: [] });
  });

  test("after a failure, the next attempts follow quickly", async () => {
    harness.answerEventsWith(500);
    const session = await harness.gateway.createCheckoutSession(topup());
    await harness.test("POST", `checkout/${session.id}/pay`);
    await expect.poll(() => harness.test("GET", "events")).toMatchObject({ pending: [{ attempts: 1 }, {}, {}] });
    harness.answerEventsWith(200);
    await expect.poll(types).toContain("checkout.session.completed");
  });

  test.each([
    ["event_duplicate", 2],
    ["event_shuffle", 1],
    ["event_drop", 0],
  ])("%s delivers it %i times, and the API still lists it", async (name, times) => {
    const session = await harness.gateway.createCheckoutSession(topup());
    await harness.test("POST", "faults", { name, next: 1 });
    await harness.test("POST", `checkout/${session.id}/expire`);
    const copies = () => types().filter((type) => type === "checkout.session.expired").length;
    await expect.poll(copies).toBe(times);
    const [event] = (await stripeClient().events.list({ type: "checkout.session.*", limit: 1 })).data;
    expect(event).toMatchObject({ type: "checkout.session.expired", data: { object: { id: session.id } } });
    await harness.test("POST", `events/${event?.id}/resend`);
    await expect.poll(copies).toBe(times + 1);
  });
});

describe("faults", () => {
  test("a fault hits the calls it is limited to, and every hit is counted", async () => {
    await harness.test("DELETE", "faults");
    const hits = async () => {
      const { faults } = JSON.parse(JSON.stringify(await harness.test("GET", "faults")));
      return faults.find(({ name }: { name: string }) => name === "rate_limit").hits;
    };
    const before = await hits();
    await harness.test("POST", "faults", { name: "rate_limit", next: 2, call: "GET /v1/balance" });
    await harness.gateway.createCheckoutSession(topup());
    await expect(balanceCents()).rejects.toMatchObject({ statusCode: 429 });
    await expect(balanceCents()).rejects.toMatchObject({ statusCode: 429 });
    await balanceCents();
    await harness.test("POST", "faults", { name: "rate_limit", share: 1 });
    await expect(balanceCents()).rejects.toMatchObject({ statusCode: 429 });
    await harness.test("DELETE", "faults");
    await balanceCents();
    expect(await hits()).toBe(before + 3);
  });

  test("an unknown name or field is refused", async () => {
    await expect(harness.test("POST", "faults", { name: "earthquake" })).rejects.toThrow("400");
    await expect(harness.test("POST", "faults", { name: "conflict", often: true })).rejects.toThrow("400");
    await expect(harness.test("POST", "nothing")).rejects.toThrow("404");
  });
});

test("after being killed at any moment, it restarts with everything that it had acknowledged", async () => {
  const directory = mkdtempSync(join(tmpdir(), "processor-crash-"));
  const options = { directory, secretKey, webhookSecret: "whsec", eventsUrl: "http://127.0.0.1:1/" };
  const module = join(import.meta.dirname, "../../server/local/processor/start.ts");
  const script = `import { startProcessor } from ${JSON.stringify(module)};
    console.log((await startProcessor(${JSON.stringify(options)})).url);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  const client = (url: string) => {
    const { hostname, port } = new URL(url);
    return new Stripe(secretKey, { host: hostname, port, protocol: "http", maxNetworkRetries: 0 });
  };
  const answered: string[] = [];
  const create = async (stripe: Stripe, payoutId: string) => {
    const capabilities = { stripe_balance: { stripe_transfers: { requested: true } } };
    const parameters = {
      contact_email: `${payoutId}@example.com`,
      identity: { country: "us" },
      configuration: { recipient: { capabilities } },
    };
    answered.push((await stripe.v2.core.accounts.create(parameters, { idempotencyKey: payoutId })).id);
  };
  const stripe = client(String(line).trim());
  const writing = Promise.allSettled(Array.from({ length: 300 }, (_, index) => create(stripe, `key-${index}`)));
  while (answered.length < 50) await new Promise((resolve) => setTimeout(resolve, 5));
  child.kill("SIGKILL");
  await writing;
  const again = await startProcessor(options);
  try {
    const kept = new Set<string>();
    for await (const { id } of client(again.url).v2.core.accounts.list({ limit: 100 })) kept.add(id);
    expect(answered.filter((id) => !kept.has(id))).toEqual([]);
    expect(answered.length).toBeLessThan(300);
  } finally {
    await again.stop();
    rmSync(directory, { recursive: true });
  }
});
