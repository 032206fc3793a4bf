import { beforeAll, describe, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { type Call, type Input, routeOf, transports } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;
let bidId: string;
let taskId: string;

beforeAll(async () => {
  person = await createPerson(service, { cents: 1_000_000 });
  taskId = (await postTask(person)).id;
  bidId = (await placeBid(await createPerson(service), taskId)).id;
});

const taskFields = "title, description, acceptanceCriteria, maxBudgetCents, tags, revisions, checks, acceptOnChecks";
const without = (name: string) => Object.fromEntries(Object.entries(taskInput()).filter(([field]) => field !== name));

/** The message for each input, the same over both transports. */
const cases: [procedure: string, input: () => Input, path: string, message: string][] = [
  ["tasks.create", () => without("title"), "title", "`title` is required."],
  ["tasks.create", () => without("maxBudgetCents"), "maxBudgetCents", "`maxBudgetCents` is required."],
  ["tasks.create", () => without("tags"), "tags", "`tags` is required."],
  ["tasks.create", () => taskInput({ title: 5 }), "title", "`title` must be a string, not a number."],
  ["tasks.create", () => taskInput({ title: null }), "title", "`title` must be a string, not null."],
  ["tasks.create", () => taskInput({ title: true }), "title", "`title` must be a string, not a boolean."],
  ["tasks.create", () => taskInput({ title: ["x"] }), "title", "`title` must be a string, not an array."],
  ["tasks.create", () => taskInput({ title: {} }), "title", "`title` must be a string, not an object."],
  ["tasks.create", () => taskInput({ title: " " }), "title", "`title` must not be empty."],
  [
    "tasks.create",
    () => taskInput({ title: "x".repeat(1_200) }),
    "title",
    "`title` must have at most 200 characters, not 1,200.",
  ],
  [
    "tasks.create",
    () => taskInput({ title: "👩‍🚀".repeat(67) }),
    "title",
    "`title` must have at most 200 characters, not 201.",
  ],
  ["tasks.create", () => taskInput({ title: "a\nb" }), "title", "`title` must be one line without control characters."],
  [
    "tasks.create",
    () => taskInput({ title: "a\u202eb" }),
    "title",
    "`title` must not contain direction overrides or isolates (U+202A to U+202E, U+2066 to U+2069).",
  ],
  ["tasks.create", () => taskInput({ description: "" }), "description", "`description` must not be empty."],
  ["tasks.create", () => taskInput({ tags: "one" }), "tags", "`tags` must be an array, not a string."],
  ["tasks.create", () => taskInput({ tags: ["a", 5] }), "tags.1", "`tags.1` must be a string, not a number."],
  [
    "tasks.create",
    () => taskInput({ tags: Array(21).fill("a") }),
    "tags",
    "`tags` must have at most 20 items, not 21.",
  ],
  ...["100", 100.5, 0, 10_000_001, true, null, 2 ** 60].map((cents): (typeof cases)[number] => [
    "tasks.create",
    () => taskInput({ maxBudgetCents: cents }),
    "maxBudgetCents",
    `\`maxBudgetCents\` must be an integer from 1 to 10,000,000${
      typeof cents === "number" ? "" : cents === null ? ", not null" : `, not a ${typeof cents}`
    }.`,
  ]),
  ["tasks.create", () => taskInput({ budget: 5 }), "budget", `Unknown field. Allowed here: ${taskFields}.`],
  ["tasks.award", () => ({ id: taskId, bidId: "x" }), "bidId", "`bidId` must be a UUID."],
  ["tasks.award", () => ({ id: taskId, bidId, x: 1 }), "x", "Unknown field. Allowed here: bidId, expectedPriceCents."],
  ["tasks.cancel", () => ({ id: taskId, x: 1 }), "x", "Unknown field. No fields are allowed here."],
  [
    "tasks.update",
    () => ({ id: taskId, tags: [], Title: "x" }),
    "Title",
    `Unknown field. Allowed here: ${taskFields}.`,
  ],
  ["auth.logout", () => ({ everywhere: true }), "everywhere", "Unknown field. No fields are allowed here."],
  [
    "auth.signup",
    () => ({ email: "nobody", password: "a password", displayName: "N" }),
    "email",
    "`email` must be a valid email address.",
  ],
  [
    "auth.signup",
    () => ({ email: "n@example.com", password: "short", displayName: "N" }),
    "password",
    "`password` must have at least 8 characters, not 5.",
  ],
  [
    "keys.create",
    () => ({ label: "mine", scopes: ["task:write", "all"] }),
    "scopes.1",
    "`scopes.1` must be one of: task:write, bid:write, payouts:write, webhook:read, webhook:write, message:write, agreement:write, check:write.",
  ],
  [
    "webhooks.create",
    () => ({ url: "https://example.com", events: [] }),
    "events",
    "Name at least one type, in `events` or in `logEvents`.",
  ],
  ["webhooks.create", () => ({ url: "", events: ["task.created"] }), "url", "`url` must not be empty."],
  [
    "webhooks.create",
    () => ({ url: "x".repeat(2_049), events: ["task.created"] }),
    "url",
    "`url` must have at most 2,048 characters, not 2,049.",
  ],
  ...[0, 8_760.01, "1"].map((etaHours): (typeof cases)[number] => [
    "bids.place",
    () => ({ id: taskId, priceCents: 1, etaHours }),
    "etaHours",
    `\`etaHours\` must be a number from 0.01 to 8,760${typeof etaHours === "string" ? ", not a string" : ""}.`,
  ]),
  [
    "bids.place",
    () => ({ id: taskId, priceCents: 1, etaHours: 0.125 }),
    "etaHours",
    "`etaHours` must have at most two decimals.",
  ],
  [
    "bids.deliveryInit",
    () => ({ id: bidId, mimeType: "docx", bytes: 1 }),
    "mimeType",
    "`mimeType` must be a MIME type, such as text/plain or text/csv; charset=utf-8.",
  ],
  [
    "bids.sampleInit",
    () => ({ id: bidId, mimeType: "image/png", bytes: 1, dimensions: { width: 1, height: 1, depth: 1 } }),
    "dimensions.depth",
    "Unknown field. Allowed here: width, height.",
  ],
  [
    "bids.sampleInit",
    () => ({ id: bidId, mimeType: "image/png", bytes: 1, dimensions: { width: 1 } }),
    "dimensions.height",
    "`dimensions.height` is required.",
  ],
  [
    "tasks.list",
    () => ({ cursor: "yesterday" }),
    "cursor",
    "`cursor` must be an ISO 8601 timestamp, such as 2026-11-20T12:00:00.123456Z.",
  ],
  ["tasks.list", () => ({ limit: 101 }), "limit", "`limit` must be an integer from 1 to 100."],
  ["tasks.list", () => ({ limit: 0 }), "limit", "`limit` must be an integer from 1 to 100."],
  [
    "tasks.list",
    () => ({ status: "closed" }),
    "status",
    "`status` must be a list of: open, awarded, delivered, accepted, cancelled, disputed, resolved, expired.",
  ],
  ["tasks.listOwn", () => ({ role: "owner" }), "role", "`role` must be one of: buyer, bidder."],
];

describe.each(transports)("over $transport", ({ call }) => {
  const issuesOf = async (procedure: string, input: Input, by: Call = call) => {
    const { status, body } = await by(service.url, routeOf(procedure), input, person.session);
    expect([status, body.error]).toEqual([400, "invalid_input"]);
    return body.issues;
  };

  test.each(cases)(
    "%s: a message says what is wrong with which field (%#)",
    async (procedure, inputOf, path, message) => {
      expect(await issuesOf(procedure, inputOf())).toEqual([{ path, message }]);
    },
  );

  test("a very long name of an unknown field is cut, and no value is repeated", async () => {
    const issues = await issuesOf("tasks.create", taskInput({ ["n".repeat(50_000)]: "a secret value" }));
    expect(issues).toEqual([{ path: `${"n".repeat(100)}…`, message: `Unknown field. Allowed here: ${taskFields}.` }]);
  });

  test("a name is not cut in the middle of a character", async () => {
    const [issue] = await issuesOf("tasks.create", taskInput({ [`${"n".repeat(99)}🐧${"n".repeat(50)}`]: 1 }));
    expect(issue.path).toBe(`${"n".repeat(99)}…`);
  });

  test("all issues are reported at once, up to 100", async () => {
    const several = await issuesOf("tasks.create", { title: 5, tags: [], color: "red" });
    expect(several.map(({ message }: { message: string }) => message).sort()).toEqual([
      `Unknown field. Allowed here: ${taskFields}.`,
      "`description` is required.",
      "`maxBudgetCents` is required.",
      "`title` must be a string, not a number.",
    ]);
    const unknown = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`f${index}`, 1]));
    expect(await issuesOf("keys.create", { label: "mine", scopes: [], ...unknown })).toHaveLength(100);
  });
});

async function post(path: string, text: string) {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...person.session },
    body: text,
  });
  const body = (await response.json()) as Awaited<ReturnType<typeof rest>>["body"];
  return body.error.data ?? body;
}

test.each([
  ['{"title": "x",\n  "tags": [1, 2\n}', "line 3, column 1: expected `,` or `]`."],
  ['{"title": "x"', "line 1, column 14: expected `,` or `}`."],
  ['{"maxBudgetCents": NaN}', "line 1, column 20: expected a value."],
])("the message for broken JSON has the position: %s", async (text, problem) => {
  const overRest = await post("/tasks", text);
  const message = `The body is not valid JSON at ${problem}`;
  expect([overRest.error, overRest.issues]).toEqual(["invalid_input", [{ path: "", message }]]);
  const overRpc = await post("/trpc/tasks.create", text);
  const inputMessage = `The input is not valid JSON at ${problem}`;
  expect([overRpc.error, overRpc.issues]).toEqual(["invalid_input", [{ path: "", message: inputMessage }]]);
  const address = `${service.url}/trpc/tasks.list?input=${encodeURIComponent(text)}`;
  const { error } = (await (await fetch(address)).json()) as { error: { data: unknown } };
  expect(error.data).toMatchObject({ issues: [{ path: "", message: inputMessage }] });
});

test.each([
  ["[]", "an array"],
  ["null", "null"],
  ['"x"', "a string"],
  ["7", "a number"],
  ["true", "a boolean"],
])("the message for a body that is not an object names its type: %s", async (text, type) => {
  expect((await post("/tasks", text)).issues).toEqual([
    { path: "", message: `The body must be a JSON object, not ${type}.` },
  ]);
  expect((await post("/trpc/tasks.create", text)).issues).toEqual([
    { path: "", message: `The input must be an object, not ${type}.` },
  ]);
});

test.each([
  ["limit=abc", "limit", "`limit` must be an integer from 1 to 100."],
  ["limit=1.5", "limit", "`limit` must be an integer from 1 to 100."],
  ["limit=1&limit=2", "limit", "`limit` is given more than once."],
  ["tag=%ff", "tag", "`tag` has a broken % escape."],
  ["%ff=1", "", "The query has a broken % escape."],
  ["query=a", "query", "`query` must have at least 2 characters, not 1."],
  ["unknown=", "unknown", "Unknown field. Allowed here: cursor, limit, status, tag, query, minBudget, maxBudget."],
  ["__proto__=1", "__proto__", "Unknown field."],
  ["tag=%00", "tag", "The text contains a NUL character or an unpaired surrogate."],
])("the message for a query parameter names it: %s", async (query, path, message) => {
  expect((await rest(service.url, "GET", `/tasks?${query}`)).body.issues).toEqual([{ path, message }]);
});

test("the message for a field in the wrong place says where it belongs", async () => {
  const inBody = await person.patch(`/tasks/${taskId}`, { id: taskId, title: "Another title" });
  expect(inBody.body.issues).toEqual([{ path: "id", message: "`id` is part of the path. Leave it out here." }]);
  const inQuery = await person.post(`/tasks/${taskId}/cancel?reason=none`);
  const message = "This operation takes no query parameters. Send its fields in the JSON body.";
  expect(inQuery.body.issues).toEqual([{ path: "reason", message }]);
});
