import { afterEach, expect, test } from "vitest";
import { checkTopup, findUnsettledTopups } from "../../../server/market/topups/check.ts";
import type { Services } from "../../../server/services.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { openTopup, pay, topupStatus } from "../../factories/topups.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { control } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

// Without a worker: the tests decide when top-ups are checked, and no event is applied.
const service = useService();

// A test's checks must not find what another has left open.
afterEach(() => service.services.database.query(sql`UPDATE topups SET status = 'expired' WHERE status = 'created'`));

/** Checks what is due, as the sweep does. */
async function checkDue(services: Services = service.services): Promise<void> {
  for (const topup of await findUnsettledTopups(services, 100)) await checkTopup(services, topup);
}

/** Writes open top-ups that are not due for a check. */
async function addOpen(person: TestPerson, count: number): Promise<void> {
  await service.services.database.query(sql`
    INSERT INTO topups (user_id, amount_cents, currency, success_url, cancel_url, session_id, next_check_at)
    SELECT ${person.id}::uuid, 500, 'usd', '', '', gen_random_uuid()::text, 'infinity' FROM generate_series(1, ${count}::int)`);
}

test("an unpaid page is looked up at growing intervals, about 30 times in its 24 hours, and once more after its end", async () => {
  const person = await createPerson(service);
  const topup = await openTopup(service, person);
  const { processor, clock } = service.services;
  const startedAt = clock.now().getTime();
  const looks: number[] = [];
  const counting: Services = {
    ...service.services,
    processor: {
      ...processor,
      getCheckoutSession(id) {
        if (id === topup.sessionId) looks.push(Math.round((clock.now().getTime() - startedAt) / 60_000));
        return processor.getCheckoutSession(id);
      },
    },
  };
  while ((looks.at(-1) ?? 0) <= 24 * 60) {
    const [next] = await counting.database.query<{ at: string }>(sql`
      SELECT next_check_at AS at FROM topups WHERE id = ${topup.id}::uuid`);
    service.clock.advance((Date.parse(next?.at ?? "") - clock.now().getTime()) / 1000 + 0.01);
    await checkDue(counting);
  }
  expect(looks.slice(0, 3).map((minute) => minute <= 20)).toEqual([true, true, true]);
  expect(looks.length).toBeGreaterThan(24);
  expect(looks.length).toBeLessThan(40);
  const pauses = looks.slice(1).map((minute, index) => minute - (looks[index] ?? 0));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(63);
  expect(looks.at(-1)).toBeGreaterThan(24 * 60);
  // Paid at the last moment, by an event that is lost: the next check credits it.
  await pay(service, topup);
  service.clock.advance(3_600);
  await checkDue(counting);
  expect(await topupStatus(service, topup)).toBe("paid");
});

test("beyond 100 open top-ups the oldest are expired, and one that was paid meanwhile is credited", async () => {
  const person = await createPerson(service);
  const oldest = await openTopup(service, person);
  const paid = await openTopup(service, person);
  const second = await openTopup(service, person);
  await addOpen(person, 97);
  const newest = await Promise.all([1, 2, 3].map(() => openTopup(service, person)));
  await pay(service, paid);

  await checkDue();
  await checkDue();

  const statuses = [oldest, paid, second, ...newest].map((topup) => topupStatus(service, topup));
  expect(await Promise.all(statuses)).toEqual(["expired", "paid", "expired", "created", "created", "created"]);
  expect((await person.get("/wallet")).body).toEqual({ availableCents: 5_000, heldCents: 0 });
  const { processor } = service.services;
  expect(await processor.getCheckoutSession(oldest.sessionId)).toMatchObject({ status: "expired", url: null });
  const types: string[] = [];
  for await (const event of processor.listEvents(["checkout.session.expired"], 0)) types.push(event.type);
  expect(types).toHaveLength(2);
  await expectBooksToBalance(service);
});

test("a payment between the lookup and the expiry is credited", async () => {
  const person = await createPerson(service);
  const topup = await openTopup(service, person);
  await addOpen(person, 99);
  await openTopup(service, person);
  const { processor } = service.services;
  let lookups = 0;
  await checkDue({
    ...service.services,
    processor: {
      ...processor,
      async getCheckoutSession(id) {
        const session = await processor.getCheckoutSession(id);
        if (lookups++ === 0) await pay(service, topup);
        return session;
      },
    },
  });
  expect([lookups, await topupStatus(service, topup)]).toEqual([2, "paid"]);
  expect((await person.get("/wallet")).body).toEqual({ availableCents: 5_000, heldCents: 0 });
});

test("while the processor is unreachable, a top-up that is to be expired stays for a later check", async () => {
  const person = await createPerson(service);
  const topup = await openTopup(service, person);
  await addOpen(person, 99);
  await openTopup(service, person);
  await control(service, "POST", "faults", { name: "reset_after", share: 1 });
  await checkDue();
  expect(await topupStatus(service, topup)).toBe("created");
  await control(service, "DELETE", "faults");
  service.clock.advance(150);
  await checkDue();
  expect(await topupStatus(service, topup)).toBe("expired");
});
