import { expect, test } from "vitest";
import { asSeen, hashOfText, verdictStatement } from "../../../server/market/tasks/spamGuard.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { postTask, taskInput } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import type { Answer } from "../../setup/client.ts";
import { expectError } from "../../setup/expectError.ts";
import { useService } from "../../setup/testService.ts";

const service = useService({ settings: { spamGuard: true } });

const cheap = (changes: Record<string, unknown> = {}) => taskInput({ maxBudgetCents: 1, ...changes });

/** Posts as many tasks as `ages` has seconds, by hand: this long ago, with the hash of this text. */
async function addTasks(buyer: TestPerson, textHash: bigint, ages: readonly number[]): Promise<void> {
  await service.services.database.query(sql`
    INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, status, posted_text_hash, created_at)
    SELECT ${buyer.id}::uuid, 'By hand', '-', 1, '{}', 'cancelled', ${textHash}::bigint + CASE WHEN ${textHash === 0n} THEN n ELSE 0 END,
           -- One time for all: where a row takes a microsecond, two times of a running clock would be the same.
           (SELECT service_now()) - make_interval(secs => age) - n * interval '1 microsecond'
    FROM unnest(${ages}::float8[]) WITH ORDINALITY AS given (age, n)`);
}

/** Makes the buyer's tasks this much older. */
const age = (buyer: TestPerson, seconds: number) =>
  service.services.database.query(sql`
    UPDATE tasks SET created_at = created_at - make_interval(secs => ${seconds}) WHERE buyer_id = ${buyer.id}::uuid`);

/** Returns the seconds to wait. */
function expectSpamGuard(answer: Answer, extras: Record<string, unknown> = {}): number {
  expect(answer.status).toBe(429);
  expect(answer.body).toEqual({
    error: "spam_guard",
    message: expect.any(String),
    requestId: answer.headers.get("x-request-id"),
    ...extras,
  });
  expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  return Number(answer.headers.get("retry-after"));
}

test("of 60 parallel posts, as many succeed as are left of 300 within a minute, for this buyer alone", async () => {
  const [buyer, other] = await Promise.all([
    createPerson(service, { cents: 1_000, using: "key" }),
    createPerson(service, { cents: 1_000 }),
  ]);
  await addTasks(buyer, 0n, Array(280).fill(30));
  const answers = await Promise.all(Array.from({ length: 60 }, () => buyer.post("/tasks", cheap())));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    // The oldest of the 300 leave the window 60 seconds after they were posted.
    expect(expectSpamGuard(answer)).toBeLessThanOrEqual(30);
  }
  expect((await buyer.get("/wallet")).body.heldCents).toBe(20);
  expect((await other.post("/tasks", cheap())).status).toBe(201);
  await service.services.database.query(sql`DELETE FROM tasks WHERE title = 'By hand'`);
  await expectBooksToBalance(service);
});

test("`Retry-After` is true: the same task is refused until then, and then accepted", async () => {
  const buyer = await createPerson(service, { cents: 1_000 });
  await addTasks(buyer, 0n, [50, ...Array(299).fill(20)]);
  const input = cheap();
  const wait = expectSpamGuard(await buyer.post("/tasks", input));
  expect(wait).toBeGreaterThan(5);
  expect(wait).toBeLessThanOrEqual(10);
  await age(buyer, wait - 3);
  expect(expectSpamGuard(await buyer.post("/tasks", input))).toBeLessThanOrEqual(3);
  await age(buyer, 3);
  expect((await buyer.post("/tasks", input)).status).toBe(201);
  expect(expectSpamGuard(await buyer.post("/tasks", input))).toBeGreaterThan(5);
});

test("of 60 parallel posts of one text, 50 succeed, and the rest name the newest", async () => {
  const [buyer, other] = await Promise.all([
    createPerson(service, { cents: 1_000, using: "key" }),
    createPerson(service, { cents: 1_000 }),
  ]);
  const input = cheap({ title: "The same again" });
  const answers = await Promise.all(Array.from({ length: 60 }, () => buyer.post("/tasks", input)));
  const posted = answers.filter(({ status }) => status === 201).map(({ body }) => body.task);
  expect(posted).toHaveLength(50);
  const newest = posted.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0];
  const refused = answers.filter(({ status }) => status !== 201);
  for (const answer of refused) expect(expectSpamGuard(answer, { taskId: newest.id })).toBeGreaterThan(500);

  // Editing or cancelling them makes no room, other texts and other buyers have room, and an edit is never refused.
  await buyer.patch(`/tasks/${newest.id}`, { title: "Something else" });
  await buyer.post(`/tasks/${posted[0].id}/cancel`);
  const wait = expectSpamGuard(await buyer.post("/tasks", { ...input, tags: [] }), { taskId: newest.id });
  const another = await postTask(buyer, { maxBudgetCents: 1 });
  expect((await buyer.patch(`/tasks/${another.id}`, { title: input.title })).status).toBe(200);
  expect((await buyer.post("/tasks", { ...input, description: "Another description." })).status).toBe(201);
  expect((await other.post("/tasks", input)).status).toBe(201);

  const overRpc = await buyer.post("/trpc/tasks.create", input);
  expect(overRpc.body.error.data).toMatchObject({ error: "spam_guard", taskId: newest.id });
  await age(buyer, wait);
  expect((await buyer.post("/tasks", input)).status).toBe(201);
});

test("when both limits are reached, `Retry-After` is the longer wait", async () => {
  const buyer = await createPerson(service, { cents: 1_000 });
  const input = cheap();
  await addTasks(buyer, hashOfText(input), Array(50).fill(100));
  await addTasks(buyer, 0n, Array(300).fill(1));
  const wait = expectSpamGuard(await buyer.post("/tasks", input), { taskId: expect.any(String) });
  expect(wait).toBeGreaterThan(450);
  expect(wait).toBeLessThanOrEqual(500);
});

test("texts are compared as people see them, and stored as they were sent", async () => {
  const buyer = await createPerson(service, { cents: 1_000 });
  const input = cheap({ title: "Über die Straße", description: "A plain text.\nIn two lines." });
  await addTasks(buyer, hashOfText(input), Array(50).fill(10));
  for (const disguise of [
    { title: "  ÜBER DIE STRASSE " },
    { title: "U\u0308ber\u200b die\u00ad Stra\u2060ße" },
    { title: "Über\u00a0die\u3000Straße\ufe0f" },
    { title: "\uff35\u0308ber die Straße" },
    { description: "A  plain\ttext. In\u0007 two\u200d lines.\n\n" },
    { description: "a plain text.\r\nin two lines.\u{e0001}\u{e0101}" },
  ]) {
    expectSpamGuard(await buyer.post("/tasks", { ...input, ...disguise }), { taskId: expect.any(String) });
  }
  for (const other of [{ title: "Uber die Straße" }, { description: "A plain text. In two lines!" }]) {
    const answer = await buyer.post("/tasks", { ...input, ...other });
    expect(answer.body.task).toMatchObject(other);
  }
});

test("what is compared of a text is at most six times as long, and has no long run of combining marks", () => {
  // A long run takes time that is quadratic in its length to normalise.
  expect(asSeen(`a${"\u0301\u0323".repeat(10_000)}`)).not.toMatch(/[\u0300-\u034e]{40}/);
  const longest = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .reduce((most, character) => Math.max(most, asSeen(character).length / character.length), 0);
  expect(longest).toBeLessThanOrEqual(6);
  expect(asSeen("\ufdfa")).not.toBe(asSeen("\ufdfb"));
});

test("a task from before the guard kept hashes is in nobody's way", async () => {
  const buyer = await createPerson(service, { cents: 1_000 });
  const input = cheap();
  await addTasks(buyer, hashOfText(input), Array(60).fill(10));
  await service.services.database.query(
    sql`UPDATE tasks SET posted_text_hash = NULL WHERE buyer_id = ${buyer.id}::uuid`,
  );
  expect((await buyer.post("/tasks", input)).status).toBe(201);
});

test("the guard reads only the tasks that it counts, through its indexes, with a plan for any values", async () => {
  const buyer = await createPerson(service);
  await addTasks(buyer, 1n, [...Array(5_000).fill(100_000), ...Array(310).fill(5)]);
  const client = await service.owner.pool.connect();
  try {
    await client.query("ANALYZE tasks");
    await client.query("SET plan_cache_mode = force_generic_plan");
    const { text, values } = verdictStatement(buyer.id, 1n);
    const types = values.map((value) =>
      typeof value === "bigint" ? "bigint" : typeof value === "number" ? "float8" : "uuid",
    );
    await client.query(`PREPARE verdict (${types.join()}) AS ${text}`);
    const literals = values.map((value) => client.escapeLiteral(String(value))).join();
    const { rows } = await client.query<Record<"QUERY PLAN", string>>(
      `EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) EXECUTE verdict (${literals})`,
    );
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).not.toMatch(/Seq Scan|Sort/);
    expect(plan).toMatch(/tasks_buyer_idx/);
    expect(plan).toMatch(/tasks_repeats_idx/);
    const read = [...plan.matchAll(/Index.*rows=([\d.]+)/g)].map(([, count]) => Number(count));
    expect(Math.max(...read)).toBeLessThanOrEqual(300);
  } finally {
    client.release(true);
  }
});

test("a task is refused before its input is found to be too expensive, and holds nothing", async () => {
  const buyer = await createPerson(service);
  await addTasks(buyer, 0n, Array(300).fill(5));
  expectSpamGuard(await buyer.post("/tasks", cheap()));
  expectError(await buyer.post("/tasks", cheap({ title: "" })), "invalid_input");
});
