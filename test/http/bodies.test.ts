import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import type { Answer } from "../setup/client.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const MAX_BODY_BYTES = 256 * 1024;
let buyer: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 1_000_000 });
});

async function send(
  path: string,
  body: string | Uint8Array | ReadableStream | undefined,
  headers: Record<string, string> = { "content-type": "application/json" },
): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { ...buyer.session, ...headers },
    body,
    duplex: "half",
  } as RequestInit); // fetch's types lack `duplex`
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === "" ? undefined : JSON.parse(text) };
}

function chunked(...chunks: (string | Buffer)[]): ReadableStream {
  return ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));
}

const task = () => JSON.stringify(taskInput());

test.each([
  ["text/plain", { "content-type": "text/plain" }],
  ["a form", { "content-type": "application/x-www-form-urlencoded" }],
  ["a multipart form", { "content-type": "multipart/form-data; boundary=x" }],
  ["another JSON type", { "content-type": "application/vnd.api+json" }],
  ["no value", { "content-type": "" }],
  ["UTF-16", { "content-type": "application/json; charset=utf-16" }],
  ["Latin-1", { "content-type": "application/json;charset=iso-8859-1" }],
  ["an unknown compression", { "content-type": "application/json", "content-encoding": "x-mine" }],
])("a body that is not JSON is 415, and nothing was done: %s", async (_name, headers) => {
  expectError(await send("/tasks", task(), headers), "unsupported_media_type");
  expectError(await send("/tasks", chunked(task()), headers), "unsupported_media_type");
});

test("a body without a Content-Type is 415", async () => {
  expectError(await send("/tasks", Buffer.from(task()), {}), "unsupported_media_type");
});

test.each([
  "application/json",
  "Application/JSON",
  "application/json; charset=utf-8",
  'application/json ; charset="UTF-8"',
])("JSON by any of its names is read: %s", async (type) => {
  expect((await send("/tasks", task(), { "content-type": type })).status).toBe(201);
});

test("a body compressed with gzip is read; a body that only claims to be is 400", async () => {
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  expect((await send("/tasks", gzipSync(task()), headers)).status).toBe(201);
  expectError(await send("/tasks", task(), headers), "invalid_input");
  expectError(await send("/tasks", gzipSync(task()).subarray(0, 40), headers), "invalid_input");
});

test.each([
  ["cut off", '{"title": "x"'],
  ["not JSON at all", "title=x"],
  ["a trailing comma", '{"title": "x",}'],
  ["NaN", '{"maxBudgetCents": NaN}'],
  ["a raw NUL byte", '{"title": "a\0b"}'],
  ["only white space", "  \n "],
  ["null", "null"],
  ["a list", "[]"],
  ["a string", '"x"'],
  ["a number", "7"],
])("broken JSON, or JSON that is not an object, is 400: %s", async (_name, body) => {
  expectError(await send("/tasks", body), "invalid_input");
  expectError(await send("/auth/logout", body), "invalid_input");
});

test("bytes that are not UTF-8 are refused, not silently replaced", async () => {
  const body = Buffer.concat([
    Buffer.from('{"title": "ab'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('c", "description": "d", "maxBudgetCents": 100, "tags": []}'),
  ]);
  expectError(await send("/tasks", body), "invalid_input");
});

test("a body of 256 KiB is read, and one byte more is 413, with a length, chunked or compressed", async () => {
  const fill = (bytes: number) => {
    const frame = JSON.stringify({ ...taskInput(), description: "" });
    return frame.replace('"description":""', `"description":"${"x".repeat(bytes - frame.length)}"`);
  };
  const atLimit = fill(MAX_BODY_BYTES);
  expect(Buffer.byteLength(atLimit)).toBe(MAX_BODY_BYTES);
  const answer = await send("/tasks", atLimit);
  expectError(answer, "invalid_input"); // a description has at most 20,000 characters
  expect(issuePaths(answer.body)).toEqual(["description"]);

  const over = fill(MAX_BODY_BYTES + 1);
  const tooLarge = await send("/tasks", over);
  expectError(tooLarge, "payload_too_large");
  expect(tooLarge.body.message).toContain("at most 256 KiB");
  expectError(await send("/tasks", chunked(over.slice(0, 1000), over.slice(1000))), "payload_too_large");
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  expectError(await send("/tasks", gzipSync(over), headers), "payload_too_large");
  expectError(await send("/tasks", gzipSync(Buffer.alloc(50_000_000, " ")), headers), "payload_too_large");
  const largeEvent = await send("/processor/events", "x".repeat(1024 * 1024 + 1));
  expectError(largeEvent, "payload_too_large");
  expect(largeEvent.body.message).toContain("at most 1024 KiB");
});

test("an action without input accepts no body, an empty one or {}, and names every field of any other", async () => {
  const action = async (
    body: string | Uint8Array | ReadableStream | undefined,
    headers: Record<string, string> = {},
  ) => {
    const posted = await send("/tasks", task());
    return send(`/tasks/${posted.body.task.id}/cancel`, body, headers);
  };
  const json = { "content-type": "application/json" };
  expect((await action(undefined)).status).toBe(200);
  expect((await action(undefined, json)).status).toBe(200);
  expect((await action("", json)).status).toBe(200);
  expect((await action("", { "content-type": "text/plain" })).status).toBe(200);
  expect((await action(chunked(), json)).status).toBe(200);
  expect((await action("{}", json)).status).toBe(200);
  const refused = await action('{"reason": "changed my mind", "now": true}', json);
  expectError(refused, "invalid_input");
  expect(issuePaths(refused.body)).toEqual(["now", "reason"]);
  const logout = await send("/auth/logout", '{"everywhere": true}');
  expectError(logout, "invalid_input");
  expect(issuePaths(logout.body)).toEqual(["everywhere"]);
});

test("nesting as deep as a body can hold is refused, and the service keeps running", async () => {
  const lists = "[".repeat(120_000) + "]".repeat(120_000);
  const objects = `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`;
  for (const deep of [lists, objects]) {
    const answer = await send("/tasks", `{"title": "abc", "extra": ${deep}}`);
    expectError(answer, "invalid_input");
    expect(answer.body.issues).toEqual([{ path: "", message: "The input is nested more than 16 levels deep." }]);
    expectError(await send("/tasks", `{"title": ${deep}}`), "invalid_input");
  }
});

test("a body with thousands of unknown fields gets a response of bounded size", async () => {
  const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`f${index}`, 1]));
  const answer = await send("/tasks", JSON.stringify(fields));
  expectError(answer, "invalid_input");
  expect(answer.body.issues).toEqual([{ path: "", message: "The input has more than 1,000 values." }]);
});
