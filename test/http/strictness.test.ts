import { beforeAll, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { type Answer, rest } from "../setup/client.ts";
import { expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;
let taskId: string;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
  taskId = (await postTask(buyer)).id;
});

/** Posts the text of a JSON body, so that a test can send `\ud800` and 1e400, which JSON.stringify cannot produce. */
async function post(url: string, body: string, person: TestPerson): Promise<{ status: number; body: Answer["body"] }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...person.session },
    body,
  });
  const answer = (await response.json()) as Answer["body"];
  return { status: response.status, body: answer.error?.data ?? answer.result?.data ?? answer };
}

const transports = [
  {
    transport: "REST",
    createTask: (body: string) => post(`${service.url}/tasks`, body, buyer),
    bid: (body: string) => post(`${service.url}/tasks/${taskId}/bids`, body, bidder),
  },
  {
    transport: "RPC",
    createTask: (body: string) => post(`${service.url}/trpc/tasks.create`, body, buyer),
    bid: (body: string) => post(`${service.url}/trpc/bids.place`, body.replace("{", `{"id": "${taskId}", `), bidder),
  },
];

describe.each(transports)("over $transport", ({ createTask, bid }) => {
  const task = (field: string, json: string) =>
    JSON.stringify({ ...taskInput(), [field]: "HERE" }).replace('"HERE"', () => json);

  test.each([
    '"100"',
    '""',
    "100.5",
    "1e-3",
    "null",
    "true",
    "false",
    "[100]",
    "{}",
    "2147483648",
    "4294967396",
    "9007199254740993",
    "1e400",
    "-100",
    "0",
  ])("anything but an integer within its bounds is refused, before and after the first REST call: %s", async (json) => {
    for (let round = 0; round < 2; round++) {
      for (const { answer, field } of [
        { answer: await createTask(task("maxBudgetCents", json)), field: "maxBudgetCents" },
        { answer: await bid(`{"priceCents": ${json}, "etaHours": 3}`), field: "priceCents" },
        // 100.5 hours are fine.
        ...(json === "100.5"
          ? []
          : [{ answer: await bid(`{"priceCents": 5000, "etaHours": ${json}}`), field: "etaHours" }]),
      ]) {
        // The schema's bound of a bid's price is 2^31; 4,294,967,396 must not wrap around to 100.
        expect([answer.status, field, issuePaths(answer.body)]).toEqual([400, field, [field]]);
        expectErrorBody(answer.body, "invalid_input");
      }
      await rest(service.url, "GET", "/tasks?limit=1&minBudget=1");
    }
  });

  test("1e3 and 1000.0 are integers in JSON", async () => {
    for (const json of ["1e3", "1000.0"]) {
      expect((await createTask(task("maxBudgetCents", json))).body.task.maxBudgetCents).toBe(1000);
    }
  });

  test.each([
    ["NUL", "a\\u0000bc"],
    ["a lone high surrogate", "abc\\ud800"],
    ["a lone low surrogate", "\\udc00abc"],
    ["surrogates in the wrong order", "ab\\udc00\\ud800"],
  ])("text that Postgres would refuse or change is refused: %s", async (_name, text) => {
    for (const field of ["title", "description", "acceptanceCriteria"]) {
      const answer = await createTask(task(field, `"${text}"`));
      expectErrorBody(answer.body, "invalid_input");
      expect(issuePaths(answer.body)).toEqual([field]);
    }
    const tags = await createTask(task("tags", `["fine", "${text}"]`));
    expect(issuePaths(tags.body)).toEqual(["tags.1"]);
    expect((await bid(`{"priceCents": 5000, "etaHours": 3, "notes": "${text}"}`)).body.error).toBe("invalid_input");
  });

  test("a surrogate pair is an ordinary character", async () => {
    const answer = await createTask(task("title", '"\\ud83d\\udcb8\\ud83d\\udcb8\\ud83d\\udcb8"'));
    expect(answer.body.task.title).toBe("💸💸💸");
  });

  test.each([
    ["a number for text", "title", "5", ["title"]],
    ["null for text", "title", "null", ["title"]],
    ["an object for text", "description", '{"a": 1}', ["description"]],
    ["text for a list", "tags", '"translation"', ["tags"]],
    ["an object for a list", "tags", '{"0": "translation"}', ["tags"]],
    ["null in a list", "tags", '["a", null]', ["tags.1"]],
    ["too many tags", "tags", JSON.stringify(Array.from({ length: 21 }, (_, i) => `t${i}`)), ["tags"]],
    ["an unknown field", "currency", '"usd"', ["currency"]],
    ["a field by another case", "Title", '"abc"', ["Title"]],
    ["a field of the record", "status", '"accepted"', ["status"]],
    ["constructor", "constructor", '{"prototype": {}}', ["constructor"]],
  ])("a wrong or unknown field is named: %s", async (_name, field, json, paths) => {
    const answer = await createTask(task(field, json));
    expectErrorBody(answer.body, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(paths);
  });

  test("__proto__ is an unknown field, and its fields are not inherited", async () => {
    const inherited = JSON.stringify(taskInput());
    const alone = await createTask(`{"__proto__": ${inherited}}`);
    expectErrorBody(alone.body, "invalid_input");
    const beside = await createTask(inherited.replace("{", '{"__proto__": {"maxBudgetCents": 100}, '));
    expectErrorBody(beside.body, "invalid_input");
    expect(issuePaths(beside.body)).toEqual(["__proto__"]);
    expect(Object.hasOwn(Object.prototype, "maxBudgetCents")).toBe(false);
  });

  test("every missing field is named at once", async () => {
    expect(issuePaths((await createTask("{}")).body)).toEqual(["description", "maxBudgetCents", "tags", "title"]);
  });
});

test("updates refuse unknown fields, and an empty update is 400", async () => {
  const bid = await placeBid(bidder, taskId);
  for (const { person, path } of [
    { person: buyer, path: `/tasks/${taskId}` },
    { person: bidder, path: `/bids/${bid.id}` },
  ]) {
    expect((await person.patch(path, {})).body.error).toBe("invalid_input");
    expect(issuePaths((await person.patch(path, { notes2: "x" })).body)).toContain("notes2");
  }
});

test("a path parameter in the body or query is refused", async () => {
  const other = await postTask(buyer);
  const inBody = await buyer.patch(`/tasks/${taskId}`, { id: other.id, title: "Taken over" });
  expectErrorBody(inBody.body, "invalid_input");
  expect(issuePaths(inBody.body)).toEqual(["id"]);
  const inQuery = await buyer.get(`/tasks/${taskId}?id=${other.id}`);
  expectErrorBody(inQuery.body, "invalid_input");
  expect(issuePaths(inQuery.body)).toEqual(["id"]);
  const onPost = await buyer.post(`/tasks/${taskId}/cancel?id=${other.id}`);
  expectErrorBody(onPost.body, "invalid_input");
  expect((await buyer.get(`/tasks/${taskId}`)).body.task.status).toBe("open");
});
