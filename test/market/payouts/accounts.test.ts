import { expect, test } from "vitest";
import type { Processor } from "../../../server/gateways/processor.ts";
import { ensurePayoutAccount, syncPayoutAccount } from "../../../server/market/payouts/accounts.ts";
import { sql } from "../../../server/store/connection.ts";
import { accountOf, createPayee } from "../../factories/payouts.ts";
import { callerOf, createPerson } from "../../factories/people.ts";
import { control } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const HOUR_SECONDS = 3_600;

/** The service's processor, recording the accounts that it creates. The first call fails before or after creating one. */
function watched({ loseFirst }: { loseFirst: "after" | "before" }) {
  const { processor } = service.services;
  const made: string[] = [];
  const keys: string[] = [];
  const createAccount: Processor["createAccount"] = async (input) => {
    keys.push(input.idempotencyKey);
    if (keys.length === 1 && loseFirst === "before") throw new Error("killed");
    const account = await processor.createAccount(input);
    made.push(account.accountId);
    if (keys.length === 1) throw new Error("killed");
    return account;
  };
  return { made, keys, services: { ...service.services, processor: { ...processor, createAccount } } };
}

test("an account whose creation got no response is found again, even long after its key has expired", async () => {
  // So many that the list has a second page.
  const others = Array.from({ length: 100 }, (_, number) => ({
    userId: `other-${number}`,
    email: "other@example.com",
    displayName: "Other",
    idempotencyKey: crypto.randomUUID(),
  }));
  const person = await createPerson(service);
  const caller = await callerOf(service, person);
  const { made, keys, services } = watched({ loseFirst: "after" });
  await expect(ensurePayoutAccount(services, caller)).rejects.toThrow("killed");
  for (const other of others) await service.services.processor.createAccount(other);
  for (const hours of [23, 24 * 30]) {
    await service.services.database.query(sql`
      UPDATE payout_accounts SET account_id = NULL WHERE user_id = ${person.id}::uuid`);
    service.clock.advance(hours * HOUR_SECONDS);
    expect(await ensurePayoutAccount(services, caller)).toBe(made[0]);
  }
  expect(await accountOf(service, person.id)).toBe(made[0]);
  expect(keys).toHaveLength(1);
});

test("an expired key that created nothing is replaced by a new one, but only when no call with it can be under way", async () => {
  const person = await createPerson(service);
  const caller = await callerOf(service, person);
  const { made, keys, services } = watched({ loseFirst: "before" });
  await expect(ensurePayoutAccount(services, caller)).rejects.toThrow("killed");
  service.clock.advance(23 * HOUR_SECONDS);
  await expect(ensurePayoutAccount(services, caller)).rejects.toMatchObject({ name: "ProcessorUnavailable" });
  service.clock.advance(3 * HOUR_SECONDS);
  const answers = await Promise.all(Array.from({ length: 5 }, () => ensurePayoutAccount(services, caller)));
  expect(new Set(answers)).toEqual(new Set(made));
  expect(new Set(made).size).toBe(1);
  expect(new Set(keys).size).toBe(2);
});

test("nobody is sent to the onboarding of an account that the processor would pay out automatically", async () => {
  const person = await createPerson(service);
  await control(service, "POST", "faults", { name: "server_error", next: 1, call: "POST /v1/balance_settings" });
  expect((await person.post("/payouts/onboarding")).status).toBe(502);
  const accountId = await accountOf(service, person.id);
  expect((await person.post("/payouts/onboarding")).status).toBe(200);
  expect(await accountOf(service, person.id)).toBe(accountId);
  const response = await fetch(`${service.processorUrl}/v1/balance_settings`, {
    headers: { authorization: "Bearer sk_test_tests", "stripe-account": accountId },
  });
  expect(await response.json()).toMatchObject({ payments: { payouts: { schedule: { interval: "manual" } } } });
  service.errors.length = 0;
});

test("parallel checks of one account ask the processor at most twice each", async () => {
  const { accountId } = await createPayee(service, { cents: 0 });
  const { processor } = service.services;
  let calls = 0;
  const counting = {
    ...processor,
    getAccount: (id: string) => {
      calls += 1;
      return processor.getAccount(id);
    },
  };
  const asked = Array.from({ length: 12 }, () =>
    syncPayoutAccount({ ...service.services, processor: counting }, accountId),
  );
  expect(await Promise.all(asked)).toEqual(asked.map(() => ({ active: true })));
  expect(calls).toBeLessThanOrEqual(24);
});
