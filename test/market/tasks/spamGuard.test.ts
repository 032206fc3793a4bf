import { expect, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import { createPerson } from "../../factories/people.ts";
import { postTask, taskInput } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import type { Answer } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ settings: { spamGuard: true } });

function expectSpamGuard(answer: Answer | undefined): void {
  expect(answer?.status).toBe(429);
  expect(answer?.body).toEqual({
    error: "spam_guard",
    message: expect.any(String),
    requestId: answer?.headers.get("x-request-id"),
  });
  const retryAfter = answer?.headers.get("retry-after") ?? "";
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(Number(retryAfter)).toBeLessThanOrEqual(60);
}

test("the 21st task within a minute is refused, for this buyer alone, and until a minute has passed", async () => {
  const [buyer, other] = await Promise.all([
    createPerson(service, { cents: 1_000_000 }),
    createPerson(service, { cents: 10_000, using: "key" }),
  ]);
  for (let count = 0; count < 20; count++) await postTask(buyer, { maxBudgetCents: 100 });
  const refused = await buyer.post("/tasks", taskInput({ maxBudgetCents: 100 }));
  expectSpamGuard(refused);
  expect((await buyer.get("/wallet")).body.heldCents).toBe(2_000);
  expect((await other.post("/tasks", taskInput())).status).toBe(201);

  // The oldest of the twenty leaves the window: there is room for one.
  await service.services.database.query(sql`
    UPDATE tasks SET created_at = created_at - interval '61 seconds'
    WHERE id = (SELECT id FROM tasks WHERE buyer_id = ${buyer.id}::uuid ORDER BY created_at LIMIT 1)`);
  expect((await buyer.post("/tasks", taskInput({ maxBudgetCents: 100 }))).status).toBe(201);
  expectSpamGuard(await buyer.post("/tasks", taskInput({ maxBudgetCents: 100 })));
  await expectBooksToBalance(service);
});

test("parallel posts cannot pass the limit", async () => {
  const buyer = await createPerson(service, { cents: 1_000_000, using: "key" });
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => buyer.post("/tasks", taskInput({ maxBudgetCents: 100 }))),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
  for (const answer of answers) if (answer.status !== 201) expectSpamGuard(answer);
  await expectBooksToBalance(service);
});

test("a copy of one of the buyer's open tasks is refused, even in parallel; a copy of a closed one is not", async () => {
  const [buyer, other] = await Promise.all([
    createPerson(service, { cents: 1_000_000 }),
    createPerson(service, { cents: 1_000_000 }),
  ]);
  const input = taskInput();
  const answers = await Promise.all(Array.from({ length: 8 }, () => buyer.post("/tasks", input)));
  const posted = answers.filter(({ status }) => status === 201);
  expect(posted).toHaveLength(1);
  for (const answer of answers) if (answer.status !== 201) expectSpamGuard(answer);
  expectSpamGuard(await buyer.post("/tasks", { ...input, title: `  ${input.title}  `, maxBudgetCents: 500 }));
  expect((await buyer.post("/tasks", { ...input, description: "Another description." })).status).toBe(201);
  expect((await other.post("/tasks", input)).status).toBe(201);
  await buyer.post(`/tasks/${posted[0]?.body.task.id}/cancel`);
  expect((await buyer.post("/tasks", input)).status).toBe(201);
});
