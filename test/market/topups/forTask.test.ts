import { afterEach, expect, onTestFinished, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import { externalCheck, reportingKey, sizeCheck } from "../../factories/checks.ts";
import { createPerson, fund, type TestPerson } from "../../factories/people.ts";
import { taskInput } from "../../factories/tasks.ts";
import { pay, quiet } from "../../factories/topups.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { rest } from "../../setup/client.ts";
import { control } from "../../setup/processorControl.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ worker: true, settings: { spamGuard: true } });
afterEach(() => expectBooksToBalance(service));

/** Asks for a checkout page for a task. */
async function ask(person: TestPerson, changes: Record<string, unknown> = {}) {
  const { status, body } = await person.post("/wallet/topup", { forTask: taskInput(changes) });
  expect([status, body.error]).toEqual([200, undefined]);
  const [row] = await service.services.database.query<{ id: string; amountCents: number }>(sql`
    SELECT id, amount_cents AS "amountCents" FROM topups WHERE session_id = ${body.sessionId}`);
  if (!row) throw new Error("no top-up");
  return { ...row, sessionId: body.sessionId as string };
}

const tasksOf = async (person: TestPerson) => (await person.get("/me/tasks?role=buyer")).body.tasks;
const creditsOf = async (person: TestPerson) =>
  (await person.get("/events?types=topup.credited")).body.events.map(({ data }: { data: unknown }) => data);

test("what the wallet lacks is charged, and the task is posted with the money, once over duplicate events", async () => {
  const person = await createPerson(service, { cents: 3_000 });
  await control(service, "POST", "faults", { name: "event_duplicate", share: 1 });
  onTestFinished(async () => void (await control(service, "DELETE", "faults")));
  const topup = await ask(person, { maxBudgetCents: 8_000 });
  expect([topup.amountCents, await tasksOf(person)]).toEqual([5_000, []]);
  await pay(service, topup);
  await quiet(service);
  const [task, ...others] = await tasksOf(person);
  expect([task.status, task.maxBudgetCents, others]).toEqual(["open", 8_000, []]);
  expect((await person.get("/wallet")).body).toEqual({ availableCents: 0, heldCents: 8_000 });
  expect(await creditsOf(person)).toEqual([
    { topup: expect.objectContaining({ id: topup.id, amountCents: 5_000 }), taskId: task.id },
  ]);
});

test("at least 500 cents are charged, and a debt is paid before the task", async () => {
  const person = await createPerson(service, { cents: 7_900 });
  expect((await ask(person, { maxBudgetCents: 8_000 })).amountCents).toBe(500);
  const indebted = await createPerson(service);
  await service.services.database.transaction((tx) =>
    tx.ledger.clawBack(indebted.id, "chargeback", 1_000, `debt:${indebted.id}`),
  );
  const topup = await ask(indebted, { maxBudgetCents: 8_000 });
  expect(topup.amountCents).toBe(9_000);
  await pay(service, topup);
  await quiet(service);
  expect((await indebted.get("/wallet")).body).toEqual({ availableCents: 0, heldCents: 8_000 });
});

test("what cannot be asked for is refused by name, and nothing is opened", async () => {
  const person = await createPerson(service, { cents: 8_000 });
  const refusal = async (body: object) => {
    const { status, body: answer } = await person.post("/wallet/topup", body);
    return [status, answer.error, answer.issues?.map(({ path }: { path: string }) => path)];
  };
  expect(await refusal({ forTask: taskInput({ maxBudgetCents: 8_000 }) })).toEqual([409, "not_needed", undefined]);
  expect(await refusal({ forTask: taskInput({ maxBudgetCents: 108_001 }) })).toEqual([
    ...[400, "invalid_input", ["forTask.maxBudgetCents"]],
  ]);
  expect(await refusal({ forTask: taskInput({ title: "" }) })).toEqual([400, "invalid_input", ["forTask.title"]]);
  expect(await refusal({})).toEqual([400, "invalid_input", ["amountCents"]]);
  expect(await refusal({ amountCents: 500, forTask: taskInput() })).toEqual([400, "invalid_input", ["amountCents"]]);
  const opened = await service.services.database.query(sql`SELECT FROM topups WHERE user_id = ${person.id}::uuid`);
  expect(opened).toEqual([]);
});

test.each([
  [
    "too_late",
    (_person: TestPerson, id: string) =>
      service.services.database.query(sql`
        UPDATE topups SET created_at = created_at - interval '25 hours' WHERE id = ${id}::uuid`),
  ],
  [
    "insufficient_funds",
    (person: TestPerson) => person.post("/tasks", taskInput({ title: "Another", maxBudgetCents: 3_000 })),
  ],
  [
    "spam_guard",
    async (person: TestPerson) => {
      await fund(service, person.id, 5_000);
      for (let count = 0; count < 50; count++)
        await person.post("/tasks", taskInput({ title: "Same", maxBudgetCents: 100 }));
    },
  ],
] as const)(
  "if it can no longer be posted, because of %s, the money stays available and the person is told",
  async (because, spoil) => {
    const person = await createPerson(service, { cents: 3_000 });
    const topup = await ask(person, { title: "Same", maxBudgetCents: 8_000 });
    await spoil(person, topup.id);
    const before = [(await person.get("/wallet")).body.availableCents, (await tasksOf(person)).length];
    await pay(service, topup);
    await quiet(service);
    const after = [(await person.get("/wallet")).body.availableCents, (await tasksOf(person)).length];
    expect(after).toEqual([before[0] + 5_000, before[1]]);
    expect(await creditsOf(person)).toEqual([
      { topup: expect.objectContaining({ id: topup.id }), notPostedBecause: because },
    ]);
  },
);

test("checks are part of the task: judged when they are asked for, and the posted task has them", async () => {
  const person = await createPerson(service);
  const { id: keyId } = await reportingKey(service, person);
  const another = await reportingKey(service, await createPerson(service));
  const refusal = async (changes: object) => {
    const { status, body } = await person.post("/wallet/topup", { forTask: { ...taskInput(), ...changes } });
    return [status, body.error, body.issues?.map(({ path }: { path: string }) => path)];
  };
  const unusable = { name: "Words", required: true, kind: "text", matches: "(" };
  expect(await refusal({ acceptOnChecks: { afterMinutes: 5 } })).toEqual([
    ...[400, "invalid_input", ["forTask.acceptOnChecks"]],
  ]);
  expect(await refusal({ checks: [unusable] })).toEqual([400, "invalid_input", ["forTask.checks.0.matches"]]);
  expect(await refusal({ checks: [sizeCheck, externalCheck(another.id)] })).toEqual([
    ...[400, "invalid_input", ["forTask.checks.1.keyId"]],
  ]);

  const agreed = { checks: [sizeCheck, externalCheck(keyId)], acceptOnChecks: { afterMinutes: 5 } };
  await pay(service, await ask(person, { maxBudgetCents: 2_000, ...agreed }));
  await quiet(service);
  const [listed] = await tasksOf(person);
  expect((await person.get(`/tasks/${listed.id}`)).body.task).toMatchObject(agreed);
});

test("if the key of a check has ended when it is paid, the task is not posted, and the money stays available", async () => {
  const person = await createPerson(service);
  const { id } = await reportingKey(service, person);
  const topup = await ask(person, { maxBudgetCents: 2_000, checks: [externalCheck(id)] });
  await person.delete(`/keys/${id}`);
  await pay(service, topup);
  await quiet(service);
  expect([await tasksOf(person), (await person.get("/wallet")).body.availableCents]).toEqual([[], 2_000]);
  expect(await creditsOf(person)).toMatchObject([{ notPostedBecause: "invalid_input" }]);
});

test("a repeat after a lost answer leads to the same checkout page, and one task", async () => {
  const person = await createPerson(service);
  const forTask = taskInput({ maxBudgetCents: 2_000 });
  const send = () =>
    rest(service.url, "POST", "/wallet/topup", {
      ...{ body: { forTask }, credentials: person.session },
      headers: { "Idempotency-Key": "one" },
    });
  const [first, again] = await Promise.all([send(), send()]);
  expect(again.body).toEqual(first.body);
  await pay(service, { id: "", amountCents: 2_000, sessionId: first.body.sessionId });
  await quiet(service);
  expect(await tasksOf(person)).toHaveLength(1);
  expect((await send()).body).toEqual(first.body);
  expect(await tasksOf(person)).toHaveLength(1);
});
