import {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  PaymentRequiredError,
  Rebid,
  RebidError,
  UnauthorizedError,
} from "@rebid/sdk";
import { beforeAll, expect, test } from "vitest";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { postTask, taskInput } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { agentOf, failureOf, pageOf } from "./clients.ts";

const service = useService();
let ada: TestPerson;
let bo: TestPerson;
let buyer: Rebid;
let bidder: Rebid;

beforeAll(async () => {
  [ada, bo] = await Promise.all([createPerson(service, { cents: 1_000_000 }), createPerson(service)]);
  [buyer, bidder] = [agentOf(service, ada), agentOf(service, bo)];
});

test("the main job, from the task to the rating", async () => {
  const { task } = await buyer.tasks.create(taskInput());
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 8_000, etaHours: 24, notes: "With pleasure." });
  const awarded = await buyer.tasks.award({ id: task.id, bidId: bid.id, expectedPriceCents: bid.priceCents });
  expect(awarded.awardedBid.id).toBe(bid.id);
  const { delivery } = await bidder.bids.uploadDelivery(bid.id, Buffer.from("Hei!"), { mimeType: "text/plain" });
  expect(delivery.bytes).toBe(4);
  expect((await buyer.tasks.accept({ id: task.id })).task.status).toBe("accepted");
  expect((await buyer.tasks.rate({ id: task.id, stars: 5 })).rating.stars).toBe(5);
  expect((await bidder.wallet.read()).availableCents).toBe(8_000);
});

test("an operation without an answer's body returns nothing", async () => {
  const page = pageOf(service, ada);
  const { id } = await page.keys.create({ label: "short-lived", scopes: [] });
  expect(await page.keys.revoke({ id })).toBeUndefined();
});

test("the input is spread over path, query and body, and what is undefined is left out", async () => {
  const { task } = await buyer.tasks.create({ ...taskInput({ tags: ["a & b", "é"] }), acceptanceCriteria: undefined });
  const found = await bidder.tasks.list({ tag: "a & b", query: undefined, limit: 1 }).page();
  expect(found.tasks.map(({ id }) => id)).toEqual([task.id]);
  const { task: changed } = await buyer.tasks.update({ id: task.id, title: "Another title" });
  expect(changed.title).toBe("Another title");
});

test("withResponse returns status, headers and request id with the output", async () => {
  const input = taskInput();
  const answer = await buyer.tasks.create(input, { headers: { "X-Request-Id": "from-the-test" } }).withResponse();
  expect(answer).toMatchObject({ status: 201, requestId: "from-the-test", data: { task: { title: input.title } } });
  expect(answer.headers.get("RateLimit")).toBeNull();
  const failure = await failureOf(buyer.tasks.read({ id: crypto.randomUUID() }).withResponse());
  expect(failure).toBeInstanceOf(NotFoundError);
});

const missing = "019aa1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b";

test.each<[string, (clients: { anonymous: Rebid; page: Rebid }) => PromiseLike<unknown>, typeof RebidError, object]>([
  [
    "400 with issues",
    () => buyer.tasks.create({ ...taskInput(), title: "" }),
    BadRequestError,
    { status: 400, code: "invalid_input", issues: [{ path: "title", message: expect.any(String) }] },
  ],
  [
    "400 with violations",
    () => bidder.bids.sampleInit({ id: missing, mimeType: "text/plain", bytes: 2_000_000 }),
    BadRequestError,
    { code: "sample_too_large", violations: [{ field: "bytes", limit: 1_000_000, actual: 2_000_000 }] },
  ],
  ["401", ({ anonymous }) => anonymous.wallet.read(), UnauthorizedError, { status: 401, code: "unauthenticated" }],
  [
    "402 with the amounts",
    () => bidder.tasks.create(taskInput({ maxBudgetCents: 9_000_000 })),
    PaymentRequiredError,
    { status: 402, code: "insufficient_funds", neededCents: 9_000_000, availableCents: expect.any(Number) },
  ],
  ["403", () => buyer.keys.list(), ForbiddenError, { status: 403, code: "forbidden" }],
  ["404", () => buyer.tasks.read({ id: missing }), NotFoundError, { status: 404, code: "not_found", issues: [] }],
])("a refusal is an error of its own class: %s", async (_name, call, errorClass, fields) => {
  const anonymous = new Rebid({ baseUrl: service.url });
  const error = await failureOf(call({ anonymous, page: pageOf(service, ada) }));
  expect(error).toBeInstanceOf(errorClass);
  expect(error).toBeInstanceOf(RebidError);
  expect(error).toMatchObject({ ...fields, requestId: expect.stringMatching(/./), name: errorClass.name });
  expect(error).toHaveProperty("message", expect.stringMatching(/\w/));
});

test("an error has what the refusal is about: scope, bid, price", async () => {
  const narrow = await createKey(service.url, ada.session, ["bid:write"]);
  const reader = new Rebid({ baseUrl: service.url, apiKey: narrow.authorization?.replace("Bearer ", "") });
  expect(await failureOf(reader.tasks.create(taskInput()))).toMatchObject({ requiredScope: "task:write" });

  const task = await postTask(ada);
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 5_000, etaHours: 1 });
  const again = await failureOf(bidder.bids.place({ id: task.id, priceCents: 5_000, etaHours: 1 }));
  expect(again).toBeInstanceOf(ConflictError);
  expect(again).toMatchObject({ code: "active_bid_exists", bidId: bid.id });

  await bidder.bids.update({ id: bid.id, priceCents: 6_000 });
  const award = buyer.tasks.award({ id: task.id, bidId: bid.id, expectedPriceCents: 5_000 });
  expect(await failureOf(award)).toMatchObject({ code: "bid_changed", priceCents: 6_000 });
});

test("the message of an invalid input names the fields", async () => {
  const error = await failureOf(buyer.tasks.create({ ...taskInput(), title: "", maxBudgetCents: 0 }));
  expect(String(error)).toMatch(/title: .*maxBudgetCents: /);
});

test("a tried change is judged like a real one and changes nothing", async () => {
  const { heldCents } = await buyer.wallet.read();
  const answer = await buyer.tasks.create(taskInput(), { dryRun: true }).withResponse();
  expect(answer.headers.get("Dry-Run")).toBe("true");
  expect(answer.data.task.status).toBe("open");
  expect(await failureOf(buyer.tasks.read({ id: answer.data.task.id }))).toBeInstanceOf(NotFoundError);
  expect((await buyer.wallet.read()).heldCents).toBe(heldCents);
});

test("a list is walked to its end, page by page, and each item comes once", async () => {
  const tag = `walk ${crypto.randomUUID()}`.slice(0, 40);
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) ids.unshift((await postTask(ada, { tags: [tag], maxBudgetCents: 1 })).id);

  const list = bidder.tasks.list({ tag, limit: 2 });
  const walked: string[] = [];
  for await (const task of list) walked.push(task.id);
  expect(walked).toEqual(ids);
  const first = await list.page();
  expect(first.tasks).toHaveLength(2);
  const second = await bidder.tasks.list({ tag, limit: 2, cursor: first.nextCursor ?? undefined }).page();
  expect(second.tasks.map(({ id }) => id)).toEqual(ids.slice(2, 4));
  expect((await list.toArray({ limit: 3 })).map(({ id }) => id)).toEqual(ids.slice(0, 3));
  expect(await bidder.tasks.list({ tag }).toArray({ limit: Number.POSITIVE_INFINITY })).toHaveLength(5);
  expect(await list.toArray({ limit: 0 })).toEqual([]);
});

test("a list asks for no larger pages than are needed, and stops when the loop is left", async () => {
  const urls: string[] = [];
  const counting: typeof fetch = (input, init) => {
    urls.push(String(input));
    return fetch(input, init);
  };
  const client = agentOf(service, bo, { fetch: counting });
  await client.tasks.list().toArray({ limit: 2 });
  expect(urls.map((url) => new URL(url).search)).toEqual(["?limit=2"]);
  for await (const _ of client.tasks.list({ limit: 1 })) break;
  expect(urls).toHaveLength(2);
});

test.each(["", ".", "..", undefined, null, 5, {}])(
  "an id that would lead to another path is refused: %j",
  async (id) => {
    let requests = 0;
    const none: typeof fetch = (input, init) => {
      requests++;
      return fetch(input, init);
    };
    const client = agentOf(service, ada, { fetch: none });
    const error = await failureOf(client.tasks.cancel({ id: id as string }));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch("`id` must be an id");
    expect(requests).toBe(0);
  },
);

test.each(["../wallet", "a/b", "?x=1", "#", "%2e%2e", "a b", "é\u0000", "\ud800", "__proto__", "{id}"])(
  "any other id reaches its own operation only: %j",
  async (id) => {
    const urls: URL[] = [];
    const client = agentOf(service, ada, {
      fetch: (input, init) => {
        urls.push(new URL(String(input)));
        return fetch(input, init);
      },
    });
    expect(await failureOf(client.tasks.read({ id }))).toBeInstanceOf(NotFoundError);
    expect(urls[0]?.pathname).toMatch(/^\/tasks\/[^/]+$/);
    expect(urls[0]?.search).toBe("");
  },
);

test("what a plain JavaScript caller adds to an input is refused by the service, not dropped", async () => {
  const input: object = { ...taskInput(), unknownField: 1, __proto__: { polluted: true } };
  const error = await failureOf(buyer.tasks.create(input as Parameters<Rebid["tasks"]["create"]>[0]));
  expect(error).toMatchObject({ code: "invalid_input", issues: [{ path: "unknownField" }] });
});

test("wrong settings are refused at once, and the key is never shown", () => {
  expect(() => new Rebid({ baseUrl: "rebid.example" })).toThrow(TypeError);
  expect(() => new Rebid({ baseUrl: "ftp://rebid.example" })).toThrow(/https:/);
  for (const baseUrl of ["", "https://rebid.example?a=b", "https://rebid.example/#a", "https://a:b@rebid.example"])
    expect(() => new Rebid({ baseUrl })).toThrow(/`baseUrl`/);
  for (const timeoutMs of [0, -1, Number.NaN])
    expect(() => new Rebid({ baseUrl: service.url, timeoutMs })).toThrow(/`timeoutMs`/);
  for (const maxRetries of [-1, Number.NaN])
    expect(() => new Rebid({ baseUrl: service.url, maxRetries })).toThrow(/`maxRetries`/);
  const secret = "rb_live_SECRET\n";
  const message = (() => {
    try {
      return String(new Rebid({ baseUrl: service.url, apiKey: secret }));
    } catch (error) {
      return String(error);
    }
  })();
  expect(message).toMatch("apiKey");
  expect(message).not.toMatch("SECRET");
});

test("neither the log nor a printed client nor an error has the key or a body", async () => {
  const lines: unknown[] = [];
  const logger = {
    debug: (...line: unknown[]) => void lines.push(line),
    warn: (...line: unknown[]) => void lines.push(line),
  };
  const client = agentOf(service, bo, { logger });
  const error = await failureOf(client.tasks.create(taskInput({ title: "A private title" })));
  const { inspect } = await import("node:util");
  const printed = [
    inspect(client, { depth: 9, showHidden: true }),
    inspect(error, { depth: 9 }),
    JSON.stringify(lines),
  ];
  const key = bo.key.authorization?.slice("Bearer rb_live_".length) ?? "";
  expect(key).toHaveLength(22);
  for (const text of printed) expect(text).not.toMatch(new RegExp(`${key}|A private title`));
  expect(lines).toEqual([
    ["Rebid: a request failed", expect.objectContaining({ operation: "POST /tasks", status: 402 })],
  ]);
});

test.each([
  ["https://rebid.example", "https://rebid.example/wallet"],
  ["https://rebid.example/api//", "https://rebid.example/api/wallet"],
  [" https://rebid.example/api\n", "https://rebid.example/api/wallet"],
])("a base URL keeps its path, and loses what surrounds it: %j", async (baseUrl, expected) => {
  const urls: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    urls.push(String(input));
    return Response.json({ availableCents: 0, heldCents: 0 });
  };
  await new Rebid({ baseUrl, fetch }).wallet.read();
  expect(urls).toEqual([expected]);
});

test("every procedure but the stream is a method", async () => {
  const { routes } = await import("../setup/operations.ts");
  const client: object = new Rebid({ baseUrl: service.url });
  const paths = routes.filter(({ type }) => type !== "subscription").map(({ procedurePath }) => procedurePath);
  const absent = paths.filter((path) => {
    const [namespace = "", verb = ""] = path.split(".");
    const methods: unknown = Reflect.get(client, namespace);
    return typeof methods !== "object" || methods === null || typeof Reflect.get(methods, verb) !== "function";
  });
  expect(paths.length).toBeGreaterThan(60);
  expect(absent).toEqual([]);
});
