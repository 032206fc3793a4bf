import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testCalls } from "../../server/local/processor/testApi/calls.ts";
import { type Harness, payableAccount, payout, startHarness, topup, transfer } from "./processorHarness.ts";
// The service, in whose process the embedded processor runs, words the messages of zod.
import "../../server/schemas/messages.ts";

let harness: Harness;
beforeAll(async () => {
  // Nothing happens automatically, so that every change comes from a button.
  harness = await startHarness({ stepMs: 600_000 });
});
afterAll(() => harness.stop());
beforeEach(async () => void (await harness.test("DELETE", "faults")));

/** Submits a form of the start page. */
function press(fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(harness.url, { method: "POST", body: new URLSearchParams(fields), headers, redirect: "manual" });
}

async function startPage(): Promise<string> {
  return await (await fetch(harness.url)).text();
}

/** Returns the HTML of an object's or fault's row on the page. */
async function rowOf(id: string): Promise<string> {
  return new RegExp(`<tr id="${id}"[^]*?</tr>`).exec(await startPage())?.[0] ?? "";
}

interface Form {
  fields: Record<string, string>;
  /** The text of its row without ids and numbers, which shows the object's state. */
  state: string;
}

/** Returns what a browser would send for each form if only the required fields are filled in. */
function formsOf(page: string): Form[] {
  return page.split("<tr ").flatMap((row) => {
    const state = /<p>([^<]*)</.exec(row)?.[1]?.replace(/\w+_\w{20,}|[$\d,.]+/g, "") ?? "";
    const forms = row.match(/<form[\s\S]*?<\/form>/g) ?? [];
    return forms.map((form) => {
      const fixed = form.matchAll(/<(?:input type="hidden"|button type="submit") name="(\w+)" value="([^"]*)"/g);
      const chosen = form.matchAll(/<select name="(\w+)"[\s\S]*?<option[^>]*>(\w+)/g);
      const filled = form.matchAll(/<input type="number" name="(\w+)"[^>]* required/g);
      const fields = [...fixed, ...chosen, ...filled].map(([, name, value = "100"]) => [name, value]);
      return { fields: Object.fromEntries(fields), state };
    });
  });
}

async function paidSession(): Promise<string> {
  const { id } = await harness.gateway.createCheckoutSession(topup());
  await harness.test("POST", `checkout/${id}/pay`);
  return id;
}

async function pendingPayout(): Promise<{ accountId: string; payoutId: string }> {
  const accountId = await payableAccount(harness);
  await harness.gateway.createTransfer(transfer(accountId));
  const { id } = await harness.gateway.createPayout(payout(accountId));
  return { accountId, payoutId: id };
}

async function balanceCents(accountId: string | null): Promise<number> {
  let cents = 0;
  for await (const { amountCents } of harness.gateway.listBalanceTransactions(accountId, 0)) cents += amountCents;
  return cents;
}

test("every button on the page works, and every call of the test API that changes something has one", async () => {
  for (let count = 0; count < 4; count += 1) await pendingPayout();
  for (let count = 0; count < 4; count += 1) await paidSession();
  await harness.test("POST", `charges/${await paidSession()}/dispute`);
  for (let count = 0; count < 2; count += 1) await harness.gateway.createCheckoutSession(topup());

  const pressed = new Set<string>();
  const templates = new Set<string>();
  for (;;) {
    const forms = formsOf(await startPage()).map(({ fields, state }) => {
      const template = (fields.request ?? "").replace(/\w+_\w{20,}/, ":id");
      return { fields, template, key: JSON.stringify({ ...fields, request: template, state }) };
    });
    // Each button is pressed once for each state of an object.
    const next = forms.find(({ key }) => !pressed.has(key));
    if (next === undefined) break;
    const answer = await press(next.fields);
    expect([next.key, answer.status]).toEqual([next.key, 303]);
    expect(await (await fetch(new URL(answer.headers.get("location") ?? "", harness.url))).text()).toContain(
      `Done: <code>${next.fields.request}</code>`,
    );
    pressed.add(next.key);
    templates.add(next.template);
  }
  const changing = testCalls.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
  expect([...templates].sort()).toEqual(changing.sort());
});

test("a fault set with the form hits, is counted on the page, and is turned off with the button for all faults", async () => {
  const hits = async () => Number(/(\d+) hits?</.exec(await rowOf("rate_limit"))?.[1]);
  const before = await hits();
  const limited = { request: "POST /test/faults", name: "rate_limit", next: "1", share: "", call: "GET /v1/balance_" };
  expect((await press(limited)).status).toBe(303);
  expect(await rowOf("rate_limit")).toContain('value="GET /v1/balance_"');
  await harness.gateway.createCheckoutSession(topup());
  await expect(balanceCents(null)).rejects.toMatchObject({ cause: { statusCode: 429 } });
  expect(await hits()).toBe(before + 1);
  await press({ ...limited, next: "", share: "1" });
  await expect(balanceCents(null)).rejects.toMatchObject({ cause: { statusCode: 429 } });
  await press({ request: "DELETE /test/faults" });
  await balanceCents(null);
  expect(await hits()).toBe(before + 2);
});

test("a payout failed with the button returns to the account, and the platform gets an event", async () => {
  const { accountId, payoutId } = await pendingPayout();
  expect(await balanceCents(accountId)).toBe(0);
  await press({ request: `POST /test/payouts/${payoutId}/fail` });
  expect(await balanceCents(accountId)).toBe(2_000);
  expect(await rowOf(payoutId)).toContain(", failed");
  expect(await rowOf(payoutId)).not.toContain("<button");
  const told = () => harness.events.filter(({ account }) => account === accountId).map(({ type }) => type);
  await expect.poll(told).toContain("payout.failed");
});

test("a refused call is shown and changes nothing", async () => {
  const before = await balanceCents(null);
  const sessionId = await paidSession();
  const refused = async (status: number, text: string, fields: Record<string, string>) => {
    const answer = await press(fields);
    expect(answer.status).toBe(status);
    expect(/role="alert">([^<]*)</.exec(await answer.text())?.[1]).toContain(text);
  };
  const refund = { request: `POST /test/charges/${sessionId}/refund` };
  await refused(400, "Refund amount (5001) is greater than what is left (5000).", { ...refund, amountCents: "5001" });
  await refused(400, "`amountCents` must be an integer", { ...refund, amountCents: "much" });
  await refused(400, "Unknown field", { ...refund, reason: "none" });
  await refused(400, "`amountCents` must be an integer", { request: "POST /test/balance", amountCents: "0.5" });
  await refused(404, "No such payout", { request: "POST /test/payouts/po_none/fail" });
  await refused(404, "Unknown call: POST /test/nothing", { request: "POST /test/nothing" });
  await refused(404, "Unknown call: ", {});
  expect(await balanceCents(null)).toBe(before + 5_000);
});

test("another site cannot press the buttons", async () => {
  const before = await balanceCents(null);
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1:1"]) {
    const answer = await press({ request: "POST /test/balance", amountCents: "100" }, { Origin: origin });
    expect([origin, answer.status]).toEqual([origin, 403]);
  }
  expect(await balanceCents(null)).toBe(before);
  const own = await press({ request: "POST /test/balance", amountCents: "100" }, { Origin: harness.url });
  expect([own.status, await balanceCents(null)]).toEqual([303, before + 100]);
});

test("text from others appears as text, and a URL cannot claim that something was done", async () => {
  const hostile = '"><script>alert(1)</script>';
  await harness.gateway.createAccount({
    userId: "user-1",
    email: "bidder@example.com",
    displayName: hostile,
    idempotencyKey: crypto.randomUUID(),
  });
  await harness.test("POST", "faults", { name: "conflict", next: 1, call: hostile });
  const refused = await (await press({ request: hostile })).text();
  const claimed = await (await fetch(`${harness.url}/?${new URLSearchParams({ done: hostile })}`)).text();
  for (const page of [refused, claimed]) {
    expect(page).not.toContain("<script>");
    expect(page).toContain("alert(1)");
  }
  expect(claimed).not.toContain('role="status"');
});
