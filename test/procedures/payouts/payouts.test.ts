import { expect, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import { accountOf, createPayee, requestPayout } from "../../factories/payouts.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { connect } from "../../mcp/client.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { rest } from "../../setup/client.ts";
import { control, eventually } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ worker: true, settings: { processorPollSeconds: 4 } });

const payoutsOf = async (person: TestPerson) => (await person.get("/payouts")).body.payouts;
const firstPayout = (person: TestPerson, status: string) =>
  eventually(
    () => payoutsOf(person),
    ([payout]) => payout?.status === status,
  ).then(([payout]) => payout);
const availableOf = async (person: TestPerson) => (await person.get("/wallet")).body.availableCents;

test("a payout is debited immediately, reaches the bank, and then shows as paid", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  const answer = await payee.post("/payouts", { amountCents: 3_000 });
  expect(answer.status).toBe(202);
  expect(Object.keys(answer.body).toSorted()).toEqual(["pendingLedgerId", "status"]);
  expect(answer.body.status).toBe("pending");
  expect(await availableOf(payee)).toBe(2_000);

  const payout = await firstPayout(payee, "paid");
  expect(payout).toMatchObject({
    amountCents: 3_000,
    pendingLedgerId: answer.body.pendingLedgerId,
    failureMessage: null,
  });
  const { entries } = (await payee.get("/wallet/ledger")).body;
  expect(entries[0]).toMatchObject({
    id: answer.body.pendingLedgerId,
    kind: "payout",
    amountCents: -3_000,
    externalRef: `payout:${payout.id}`,
  });
  const transfers = await service.services.processor.findTransfers(payout.id);
  expect(transfers).toMatchObject([{ accountId: payee.accountId, amountCents: 3_000, reversedCents: 0 }]);
});

test.each(["fails", "fails_after_paid"])("a payout to a bank that %s returns to the wallet, once", async (bank) => {
  const payee = await createPayee(service, { cents: 5_000, bank });
  await requestPayout(payee, 3_000);
  const payout = await firstPayout(payee, "failed");
  expect(payout.failureMessage).toMatch(/^The bank account is closed\. Add another one/);
  expect(await availableOf(payee)).toBe(5_000);
  const [transfer] = await service.services.processor.findTransfers(payout.id);
  expect(transfer?.reversedCents).toBe(3_000);
  const kinds = (await payee.get("/wallet/ledger")).body.entries.map(({ kind }: { kind: string }) => kind);
  expect(kinds).toEqual(["payout_reversal", "payout", "topup"]);
});

test("a payout failed with the button on the processor's start page returns to the wallet", async () => {
  const payee = await createPayee(service, { cents: 5_000, bank: "never_arrives" });
  await requestPayout(payee, 3_000);
  const { id } = await firstPayout(payee, "in_transit");
  const [bankPayout] = await service.services.processor.findPayouts(payee.accountId, id);
  const form = new URLSearchParams({ request: `POST /test/payouts/${bankPayout?.id}/fail` });
  await fetch(service.processorUrl, { method: "POST", body: form });
  await firstPayout(payee, "failed");
  expect(await availableOf(payee)).toBe(5_000);
});

test("a canceled payout returns to the wallet", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  await requestPayout(payee, 1_316);
  const { failureMessage } = await firstPayout(payee, "failed");
  expect(failureMessage).toMatch(/^The payout was canceled/);
  expect(await availableOf(payee)).toBe(5_000);
});

test("a payout waits until the platform's balance covers it, and is then paid", async () => {
  const payee = await createPayee(service, { cents: 90_000_000, platformCents: 0 });
  await requestPayout(payee, 80_000_000);
  await firstPayout(payee, "waiting_funds");
  expect(await availableOf(payee)).toBe(10_000_000);
  await control(service, "POST", "balance", { amountCents: 80_000_000 });
  await firstPayout(payee, "paid");
  expect(await availableOf(payee)).toBe(10_000_000);
});

test("onboarding is checked before the balance: 412 until it is finished, then 402", async () => {
  const person = await createPerson(service, { cents: 1_000 });
  const ask = (amountCents: unknown) => person.post("/payouts", { amountCents });
  expect((await ask(999)).body.error).toBe("invalid_input");
  expect(await ask(5_000)).toMatchObject({ status: 412, body: { error: "onboarding_required" } });
  const started = await person.post("/payouts/onboarding");
  expect(started.status).toBe(200);
  expect(Object.keys(started.body).toSorted()).toEqual(["expiresAt", "url"]);
  expect(started.body.expiresAt).toBeGreaterThan(Date.now() / 1000);
  expect(Number.isInteger(started.body.expiresAt)).toBe(true);
  expect(await ask(5_000)).toMatchObject({ status: 412, body: { error: "onboarding_incomplete" } });

  const accountId = await accountOf(service, person.id);
  await control(service, "POST", `accounts/${accountId}/onboard`, { outcome: "leaves" });
  expect(await ask(5_000)).toMatchObject({ status: 412, body: { error: "onboarding_incomplete" } });
  await control(service, "POST", `accounts/${accountId}/onboard`, { outcome: "finishes" });
  expect(await ask(5_000)).toMatchObject({ status: 402, body: { error: "insufficient_funds" } });
  expect((await ask(1_000)).status).toBe(202);
});

test("a user who never had money gets 402, not an internal error", async () => {
  const payee = await createPayee(service, { cents: 0 });
  expect(await payee.post("/payouts", { amountCents: 1_000 })).toMatchObject({ status: 402 });
});

test("an API key with the scope may request payouts, but never start the onboarding", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  const ask = (path: string, body?: unknown) => rest(service.url, "POST", path, { body, credentials: payee.key });
  expect(await ask("/payouts/onboarding")).toMatchObject({ status: 403, body: { error: "forbidden" } });
  expect((await ask("/payouts", { amountCents: 1_000 })).status).toBe(202);
});

test("twenty parallel starts of the onboarding create one account", async () => {
  const person = await createPerson(service);
  const answers = await Promise.all(Array.from({ length: 20 }, () => person.post("/payouts/onboarding")));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const response = await fetch(`${service.processorUrl}/v2/core/accounts?limit=100`, {
    headers: { authorization: "Bearer sk_test_tests", "stripe-version": await stripeVersion() },
  });
  const { data } = (await response.json()) as { data: { metadata: { userId: string } }[] };
  expect(data.filter(({ metadata }) => metadata.userId === person.id)).toHaveLength(1);
});

async function stripeVersion(): Promise<string> {
  const { apiVersion } = await import("../../../server/local/processor/api/parameters.ts");
  return apiVersion;
}

test("an account is created once even if the response to its creation is lost", async () => {
  const person = await createPerson(service);
  await control(service, "POST", "faults", { name: "server_error_after", next: 1, call: "POST /v2/core/accounts" });
  expect(await person.post("/payouts/onboarding")).toMatchObject({
    status: 502,
    body: { error: "processor_unavailable" },
  });
  expect(await person.post("/payouts", { amountCents: 1_000 })).toMatchObject({
    body: { error: "onboarding_required" },
  });
  expect((await person.post("/payouts/onboarding")).status).toBe(200);
  service.errors.length = 0;
});

test("while the processor fails, a payout to an inactive account is 502, and one to an active account is accepted", async () => {
  const person = await createPerson(service, { cents: 5_000 });
  await person.post("/payouts/onboarding");
  const payee = await createPayee(service, { cents: 5_000 });
  await eventually(
    () =>
      service.services.database.query(sql`SELECT 1 FROM payout_accounts WHERE user_id = ${payee.id}::uuid AND active`),
    ({ length }) => length === 1,
  );
  await control(service, "POST", "faults", { name: "server_error", share: 1 });
  const answers = [
    await person.post("/payouts", { amountCents: 1_000 }),
    await payee.post("/payouts", { amountCents: 1_000 }),
  ];
  await control(service, "DELETE", "faults");
  expect(answers).toMatchObject([{ status: 502, body: { error: "processor_unavailable" } }, { status: 202 }]);
  await firstPayout(payee, "paid");
  service.errors.length = 0;
});

test("lost and regained capabilities are noticed, in whatever order their events arrive", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  const { database } = service.services;
  const isActive = async () => {
    const [row] = await database.query<{ active: boolean }>(sql`
      SELECT active FROM payout_accounts WHERE user_id = ${payee.id}::uuid`);
    return row?.active;
  };
  await control(service, "POST", "faults", { name: "event_shuffle", share: 0.5 });
  for (const status of ["restricted", "active", "restricted", "active", "restricted"]) {
    await control(service, "POST", `accounts/${payee.accountId}/capabilities`, { status });
  }
  await eventually(isActive, (active) => active === false);
  await control(service, "POST", `accounts/${payee.accountId}/capabilities`, { status: "active" });
  await control(service, "DELETE", "faults");
  await eventually(isActive, (active) => active === true);
});

test("parallel payouts never exceed the balance", async () => {
  const payee = await createPayee(service, { cents: 10_000 });
  const answers = await Promise.all(Array.from({ length: 12 }, () => payee.post("/payouts", { amountCents: 2_000 })));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(5);
  expect(answers.filter(({ status }) => status === 402)).toHaveLength(7);
  expect(await availableOf(payee)).toBe(0);
});

test("keyed payouts over REST and tokens over MCP, all at once and repeated, each pay exactly once", async () => {
  const payee = await createPayee(service, { cents: 10_000 });
  const agent = await connect(service.url, payee.key);
  const tokens = await Promise.all(
    [1_001, 1_002].map(async (amountCents) => {
      const { data } = await agent.call("request_payout", { amountCents });
      return { amountCents, confirm: data.preview.confirm };
    }),
  );
  const keyed = [1_003, 1_004].map((amountCents) => ({ amountCents, key: crypto.randomUUID() }));
  const pay = ({ amountCents, key }: { amountCents: number; key: string }) =>
    rest(service.url, "POST", "/payouts", {
      body: { amountCents },
      credentials: payee.key,
      headers: { "idempotency-key": key },
    });
  const repeat = <Result>(work: () => Promise<Result>) => Promise.all(Array.from({ length: 6 }, work));
  const [byToken, byKey] = await Promise.all([
    Promise.all(tokens.map((token) => repeat(() => agent.call("request_payout", token)))),
    Promise.all(keyed.map((request) => repeat(() => pay(request)))),
  ]);
  const ledgerIds = [
    ...byToken.map((answers) => new Set(answers.map(({ data }) => data.pendingLedgerId))),
    ...byKey.map((answers) => new Set(answers.map(({ body }) => body.pendingLedgerId))),
  ];
  expect(byKey.flat().map(({ status }) => status)).toEqual(Array(12).fill(202));
  expect(ledgerIds.map(({ size }) => size)).toEqual([1, 1, 1, 1]);
  expect(await availableOf(payee)).toBe(10_000 - 1_001 - 1_002 - 1_003 - 1_004);

  const payouts = await eventually(
    () => payoutsOf(payee),
    (all) => all.every(({ status }: { status: string }) => status === "paid"),
  );
  const amounts: number[] = payouts.map(({ amountCents }: { amountCents: number }) => amountCents);
  expect(amounts.toSorted()).toEqual([1_001, 1_002, 1_003, 1_004]);
  for (const { id, amountCents } of payouts) {
    expect(await service.services.processor.findTransfers(id)).toMatchObject([{ amountCents, reversedCents: 0 }]);
  }
  await expectBooksToBalance(service);
});

test.each([
  "timeout_after",
  "reset_before",
  "reset_after",
  "conflict",
  "rate_limit",
  "server_error",
  "server_error_after",
])("a payout whose calls end in %s is made once", async (fault) => {
  const payee = await createPayee(service, { cents: 5_000 });
  for (const call of ["POST /v1/transfers", "POST /v1/payouts"]) {
    // Only one fault of a name can be set at a time: the second call's is set once the first has hit.
    await control(service, "POST", "faults", { name: fault, next: 1, call });
    if (call === "POST /v1/transfers") {
      await requestPayout(payee, 2_000);
      await eventually(
        () => control<{ faults: { name: string; next: number }[] }>(service, "GET", "faults"),
        ({ faults }) => faults.find(({ name }) => name === fault)?.next === 0,
      );
    }
  }
  const payout = await firstPayout(payee, "paid");
  await control(service, "DELETE", "faults");
  expect(await service.services.processor.findTransfers(payout.id)).toHaveLength(1);
  expect(await service.services.processor.findPayouts(payee.accountId, payout.id)).toHaveLength(1);
});

test("a payout to an account that lost its capability returns to the wallet, and the next request is onboarding_incomplete", async () => {
  const payee = await createPayee(service, { cents: 5_000 });
  await requestPayout(payee, 1_000);
  await firstPayout(payee, "paid");
  await service.services.database.query(sql`UPDATE payout_accounts SET active = true`);
  await control(service, "POST", `accounts/${payee.accountId}/capabilities`, { status: "restricted" });
  await service.services.database.query(sql`UPDATE payout_accounts SET active = true`);
  const answer = await payee.post("/payouts", { amountCents: 2_000 });
  if (answer.status === 202) {
    await firstPayout(payee, "failed");
    expect(await availableOf(payee)).toBe(4_000);
  }
  await eventually(
    () => payee.post("/payouts", { amountCents: 2_000 }),
    ({ body }) => body.error === "onboarding_incomplete",
  );
});
