import { pino } from "pino";
import { expect, test } from "vitest";
import type { Processor } from "../../../server/gateways/processor.ts";
import { BalanceTooLow, ProcessorRefused } from "../../../server/gateways/processorErrors.ts";
import { advancePayout } from "../../../server/market/payouts/advance.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPayee, requestPayout } from "../../factories/payouts.ts";
import { control } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

// No worker: the test takes the steps itself, at the moments that matter.
const service = useService();

const HOUR_SECONDS = 3_600;

/** The service's processor, which records the calls that change something. */
function watched(): { calls: string[]; processor: Processor } {
  const { processor } = service.services;
  const calls: string[] = [];
  const note =
    <Input extends { idempotencyKey: string }, Result>(name: string, call: (input: Input) => Promise<Result>) =>
    (input: Input) => {
      calls.push(`${name} ${input.idempotencyKey}`);
      return call(input);
    };
  return {
    calls,
    processor: {
      ...processor,
      createTransfer: note("transfer", processor.createTransfer),
      createPayout: note("payout", processor.createPayout),
      reverseTransfer: note("reversal", processor.reverseTransfer),
    },
  };
}

async function startedPayout(bank = "pays") {
  const payee = await createPayee(service, { cents: 5_000, bank });
  await requestPayout(payee, 3_000);
  const [{ id }] = (await payee.get("/payouts")).body.payouts;
  const { calls, processor } = watched();
  const step = async (changed: Partial<Processor> = {}) => {
    await service.services.database.query(sql`
      UPDATE payouts SET next_step_at = ${service.clock.now().toISOString()}::timestamptz WHERE id = ${id}::uuid`);
    await advancePayout({ ...service.services, processor: { ...processor, ...changed } }, { payoutId: id });
    const [row] = await service.services.database.query<{ state: string }>(sql`
      SELECT state FROM payouts WHERE id = ${id}::uuid`);
    return row?.state;
  };
  const fail = (name: string, call: string) => control(service, "POST", "faults", { name, next: 1, call });
  return { payee, id, calls, step, fail };
}

test("while the outcome is unknown the call is repeated with the very same key", async () => {
  const { calls, step, fail, id } = await startedPayout();
  await fail("server_error_after", "POST /v1/transfers");
  expect(await step()).toBe("created");
  expect(await step()).toBe("transferred");
  await fail("server_error", "POST /v1/payouts");
  expect(await step()).toBe("transferred");
  expect(await step()).toBe("sent");
  expect(calls[0]).toBe(calls[1]);
  expect(calls[2]).toBe(calls[3]);
  expect(await service.services.processor.findTransfers(id)).toHaveLength(1);
});

test("a step that died after its call, before the response was stored, is repeated with the same key", async () => {
  const { step, id, payee } = await startedPayout();
  const { database, processor } = service.services;
  const dying = new Error("killed");
  const killed = {
    ...service.services,
    processor: {
      ...processor,
      createTransfer: async (input: Parameters<Processor["createTransfer"]>[0]) => {
        await processor.createTransfer(input);
        throw dying;
      },
    },
  };
  await expect(advancePayout(killed, { payoutId: id })).rejects.toBe(dying);
  // Another process leaves it alone until the claim has ended.
  await advancePayout(service.services, { payoutId: id });
  const [row] = await database.query(sql`SELECT state, attempts FROM payouts WHERE id = ${id}::uuid`);
  expect(row).toEqual({ state: "created", attempts: 1 });
  expect(await step()).toBe("transferred");
  expect(await processor.findTransfers(id)).toHaveLength(1);
  expect((await payee.get("/wallet")).body.availableCents).toBe(2_000);
});

test("a key that is too old is never sent again: what it did is looked up", async () => {
  const { calls, step, fail, id, payee } = await startedPayout();
  await fail("server_error_after", "POST /v1/transfers");
  await step();
  service.clock.advance(26 * HOUR_SECONDS);
  expect(await step()).toBe("transferred");
  await fail("server_error_after", "POST /v1/payouts");
  await step();
  service.clock.advance(26 * HOUR_SECONDS);
  expect(await step()).toMatch(/^(sent|paid)$/);
  expect(calls).toHaveLength(2);
  expect(await service.services.processor.findTransfers(id)).toHaveLength(1);
  expect(await service.services.processor.findPayouts(payee.accountId, id)).toHaveLength(1);
});

test("an old key that did nothing is replaced by a new one, but only when no call with it can be under way", async () => {
  const { calls, step, fail, id } = await startedPayout();
  await fail("server_error", "POST /v1/transfers");
  await step();
  service.clock.advance(23 * HOUR_SECONDS);
  expect(await step()).toBe("created");
  expect(calls).toHaveLength(1);
  service.clock.advance(3 * HOUR_SECONDS);
  expect(await step()).toBe("created");
  expect(calls).toHaveLength(1);
  expect(await step()).toBe("transferred");
  expect(calls).toHaveLength(2);
  expect(calls[0]).not.toBe(calls[1]);
  expect(await service.services.processor.findTransfers(id)).toHaveLength(1);
});

test("while our secret key lacks a permission a payout waits at its step, and loses nothing", async () => {
  const { step, fail, id, payee } = await startedPayout();
  await fail("no_permission", "POST /v1/transfers");
  expect(await step()).toBe("created");
  expect(await step()).toBe("transferred");
  await fail("no_permission", "POST /v1/payouts");
  expect(await step()).toBe("transferred");
  expect(await step()).toBe("sent");
  expect((await payee.get("/wallet")).body.availableCents).toBe(2_000);
  expect(await service.services.processor.findTransfers(id)).toMatchObject([{ reversedCents: 0 }]);
});

test("the processor's message for a refusal goes to the log; the payout's owner sees ours", async () => {
  const { id, payee } = await startedPayout();
  const words = "Destination acct_1Fx is on the list of 2026-11.";
  const warnings: unknown[] = [];
  const services = {
    ...service.services,
    processor: {
      ...service.services.processor,
      createTransfer: () => Promise.reject(new ProcessorRefused("code_newer_than_us", words)),
    },
    log: pino({}, { write: (line) => void warnings.push(JSON.parse(line)) }),
  };
  await advancePayout(services, { payoutId: id });
  expect(warnings).toMatchObject([{ payoutId: id, code: "code_newer_than_us", processorMessage: words }]);
  const { text, body } = await payee.get("/payouts");
  expect(body.payouts).toMatchObject([
    { status: "failed", failureMessage: expect.stringMatching(/^The payout could not be made\./) },
  ]);
  expect(text).not.toContain("acct_");
  expect(text).not.toContain("code_newer_than_us");
});

const refuse = () => Promise.reject(new ProcessorRefused("account_closed", "The account is closed."));

test("a refusal after a call whose response was lost credits nothing if the transfer exists", async () => {
  const { step, fail, payee } = await startedPayout();
  await fail("server_error_after", "POST /v1/transfers");
  await step();
  expect(await step({ createTransfer: refuse })).toBe("transferred");
  expect((await payee.get("/wallet")).body.availableCents).toBe(2_000);
});

test("a refusal after a call whose response was lost reverses nothing if the payout to the bank exists", async () => {
  const { step, fail, id } = await startedPayout();
  await step();
  await fail("server_error_after", "POST /v1/payouts");
  await step();
  expect(await step({ createPayout: refuse })).toMatch(/^(sent|paid)$/);
  expect(await service.services.processor.findTransfers(id)).toMatchObject([{ reversedCents: 0 }]);
});

test("a payout to a closed account returns to the wallet, although the account's payouts cannot be listed", async () => {
  const { step, payee } = await startedPayout();
  await step();
  expect(await step({ createPayout: refuse, findPayouts: refuse })).toBe("returning");
  expect(await step()).toBe("failed");
  expect((await payee.get("/wallet")).body.availableCents).toBe(5_000);
});

test("a refused lookup credits nothing, because the transfer may exist", async () => {
  const { step, fail, payee } = await startedPayout();
  await fail("server_error_after", "POST /v1/transfers");
  await step();
  expect(await step({ createTransfer: refuse, findTransfers: refuse })).toBe("created");
  service.clock.advance(26 * HOUR_SECONDS);
  expect(await step({ findTransfers: refuse })).toBe("created");
  expect(service.errors.splice(0)).toHaveLength(2);
  expect((await payee.get("/wallet")).body.availableCents).toBe(2_000);
  expect(await step()).toBe("transferred");
});

test("a definite refusal is followed by a new key, because Stripe would repeat the old refusal for the old one", async () => {
  const { calls, step, id } = await startedPayout();
  await control(service, "POST", "balance", { amountCents: -50_000_000 });
  expect(await step()).toBe("unfunded");
  expect(await step()).toBe("unfunded");
  await control(service, "POST", "balance", { amountCents: 50_000_000 });
  expect(await step()).toBe("transferred");
  expect(new Set(calls).size).toBe(3);
  expect(await service.services.processor.findTransfers(id)).toHaveLength(1);
});

test("a payout whose money is not yet available on the account waits, and its status says so", async () => {
  const { calls, step, id, payee } = await startedPayout();
  const status = async () => (await payee.get("/payouts")).body.payouts[0].status;
  const tooLow = { createPayout: () => Promise.reject(new BalanceTooLow("balance_insufficient", "Too low.")) };
  await step();
  expect(await step(tooLow)).toBe("settling");
  expect(await step(tooLow)).toBe("settling");
  expect(await status()).toBe("waiting_funds");
  await service.services.database.query(sql`
    UPDATE payouts SET created_at = created_at - interval '2 hours' WHERE id = ${id}::uuid`);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toContain('rebid_payouts_unfinished{state="settling"} 1\n');
  expect(metrics).toMatch(/^rebid_payouts_oldest_unfinished_seconds\{state="settling"\} 72\d\d\.?\d*$/m);
  expect(await step()).toBe("sent");
  expect(calls).toHaveLength(2);
  expect(await service.services.processor.findTransfers(id)).toMatchObject([{ reversedCents: 0 }]);
});

test("a refused payout reverses the transfer before the wallet is credited", async () => {
  const { step, fail, payee } = await startedPayout();
  const { accountId } = payee;
  await step();
  await control(service, "POST", `accounts/${accountId}/capabilities`, { status: "restricted" });
  expect(await step()).toBe("returning");
  await fail("server_error", "POST /v1/transfers");
  expect(await step()).toBe("returning");
  expect((await payee.get("/wallet")).body.availableCents).toBe(2_000);
  expect(await step()).toBe("failed");
  expect((await payee.get("/wallet")).body.availableCents).toBe(5_000);
  expect(await payee.post("/payouts", { amountCents: 1_000 })).toMatchObject({
    body: { error: "onboarding_incomplete" },
  });
});
