import { readFile } from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
beforeAll(async () => {
  buyer = await createPerson(service, { cents: 100_000_000 });
  bidder = await createPerson(service);
});

/** Random letters of four bytes each, which do not compress: the largest text of this many code points. */
const heavy = (count: number) =>
  Array.from({ length: count }, () => String.fromCodePoint(0x20000 + Math.floor(Math.random() * 0xa6df))).join("");

test("the database takes the largest texts that the schemas take, and one code point more is refused", async () => {
  const largest = {
    title: heavy(200),
    description: heavy(20_000),
    acceptanceCriteria: heavy(10_000),
    maxBudgetCents: 10_000_000,
    tags: Array.from({ length: 20 }, () => heavy(40)),
  };
  const task = await postTask(buyer, largest);
  expect(task).toMatchObject(largest);
  const found = await rest(service.url, "GET", `/tasks?tag=${encodeURIComponent(largest.tags[19] ?? "")}`);
  expect(found.body.tasks).toHaveLength(1);
  const query = encodeURIComponent(largest.title.slice(240)); // 80 code points
  expect((await rest(service.url, "GET", `/tasks?query=${query}`)).body.tasks).toHaveLength(1);
  const bid = await placeBid(bidder, task.id, { priceCents: 10_000_000, etaHours: 8_760, notes: heavy(5_000) });
  expect(Buffer.byteLength(bid.notes)).toBe(20_000);

  for (const changes of [
    { title: heavy(201) },
    { description: heavy(20_001) },
    { acceptanceCriteria: heavy(10_001) },
    { maxBudgetCents: 10_000_001 },
  ]) {
    const answer = await buyer.patch(`/tasks/${task.id}`, changes);
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(Object.keys(changes));
  }
  expect((await buyer.patch(`/tasks/${task.id}`, { tags: [heavy(41)] })).status).toBe(400);
  expect((await bidder.patch(`/bids/${bid.id}`, { notes: heavy(5_001) })).status).toBe(400);
  const profile = { password: heavy(128), displayName: heavy(80) };
  const email = `${heavy(64)}@example.com`;
  expect((await rest(service.url, "POST", "/auth/signup", { body: { ...profile, email } })).status).toBe(201);
  expect((await rest(service.url, "POST", "/auth/login", { body: { email, password: profile.password } })).status).toBe(
    200,
  );
});

test("a name that the database cannot store is refused, as a text is", async () => {
  for (const name of ["\0", "\ud800"]) {
    const schema = { type: "object", properties: { [name]: true } };
    const checks = [{ name: "Rows", required: true, kind: "json_schema", schema }];
    const answer = await buyer.post("/tasks", taskInput({ checks }));
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(["checks.0.schema.properties"]);
  }
});

test("a title of one character and a budget of one cent are enough", async () => {
  const task = await postTask(buyer, { title: "数", maxBudgetCents: 1 });
  expect((await placeBid(bidder, task.id, { priceCents: 1, etaHours: 0.01 })).priceCents).toBe(1);
});

test.each([0.01, 0.29, 0.5, 1.15, 1.25, 24, 8_759.99])(
  "%s hours come back as they were sent, everywhere, and set the delivery's due time",
  async (etaHours) => {
    const task = await postTask(buyer);
    const bid = await placeBid(bidder, task.id, { etaHours: 5 });
    expect((await bidder.patch(`/bids/${bid.id}`, { etaHours })).body.bid.etaHours).toBe(etaHours);
    const now = service.clock.now();
    const awarded = (await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id })).body;
    expect(awarded.awardedBid.etaHours).toBe(etaHours);
    const hours = (Date.parse(awarded.task.deliveryDueAt) - now.getTime()) / 3_600_000;
    expect(hours).toBeCloseTo(etaHours, 1);
    expect((Date.parse(awarded.task.deliveryDueAt) - Date.parse(awarded.task.awardedAt)) % 1_000).toBe(0);
    expect((await buyer.get(`/tasks/${task.id}/bids`)).body.bids[0].etaHours).toBe(etaHours);
    const [event] = await service.services.database.query<{ data: { bid: { etaHours: number } } }>(sql`
      SELECT data FROM events WHERE type = 'task.awarded' AND task_id = ${task.id}::uuid`);
    expect(event?.data.bid.etaHours).toBe(etaHours);
  },
);

test.each([0, -1, 0.001, 0.125, 8_760.01, 1e-7, null, "1.5"])("%s hours are refused", async (etaHours) => {
  const task = await postTask(buyer);
  const answer = await bidder.post(`/tasks/${task.id}/bids`, { priceCents: 1, etaHours });
  expectError(answer, "invalid_input");
  expect(issuePaths(answer.body)).toEqual(["etaHours"]);
});

test("an optional text that is null or empty is the same as one that is left out", async () => {
  for (const nothing of [{}, { acceptanceCriteria: null }, { acceptanceCriteria: "" }]) {
    expect((await postTask(buyer, nothing)).acceptanceCriteria).toBeNull();
  }
  const { task, bid } = await deliveredTask(buyer, bidder);
  expect(bid.notes).toBeNull();
  expect((await buyer.post(`/tasks/${task.id}/accept`)).status).toBe(200);
  const byBuyer = await buyer.post(`/tasks/${task.id}/rate`, { stars: 5, comment: null });
  const byBidder = await bidder.post(`/tasks/${task.id}/rate`, { stars: 5, comment: "" });
  expect([byBuyer.body.rating.comment, byBidder.body.rating.comment]).toEqual([null, null]);
});

test("titles, tags and labels keep the joiners of scripts and emoji", async () => {
  const text = "می‌خواهم 👩‍🚀";
  expect(await postTask(buyer, { title: text, tags: [text] })).toMatchObject({ title: text, tags: [text] });
  expect((await buyer.post("/keys", { label: text, scopes: [] })).body.label).toBe(text);
  for (const input of [taskInput({ title: "a\u202eb" }), taskInput({ tags: ["\u2066a\u2069"] })]) {
    expectError(await buyer.post("/tasks", input), "invalid_input");
  }
});

test("the document states the bounds, which JSON Schema counts in code points, too", async () => {
  const text = await readFile("openapi/openapi.json", "utf8");
  expect(text).not.toMatch(/as a person counts/);
  const document = JSON.parse(text);
  const bodyOf = (path: string) => {
    const { $ref } = document.paths[path].post.requestBody.content["application/json"].schema;
    return document.components.schemas[$ref.replace("#/components/schemas/", "")].properties;
  };
  expect(bodyOf("/tasks")).toMatchObject({
    title: { minLength: 1, maxLength: 200 },
    description: { minLength: 1, maxLength: 20_000 },
    acceptanceCriteria: { type: ["string", "null"], maxLength: 10_000 },
    tags: { maxItems: 20, items: { minLength: 1, maxLength: 40 } },
  });
  expect(bodyOf("/tasks/{id}/bids")).toMatchObject({ notes: { maxLength: 5_000 }, etaHours: { type: "number" } });
  expect(bodyOf("/tasks/{id}/rate")).toMatchObject({ comment: { type: ["string", "null"], maxLength: 500 } });
  expect(bodyOf("/disputes/{id}/resolve")).toMatchObject({ note: { type: ["string", "null"], maxLength: 2_000 } });
});
