import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask, taskInput } from "../factories/tasks.ts";
import { type Answer, rest, rpc, rpcError } from "../setup/client.ts";
import { expectErrorBody, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;

beforeAll(async () => {
  person = await createPerson(service, { cents: 1_000_000 });
});

async function call(method: string, path: string, options: { body?: string | Uint8Array; headers?: object } = {}) {
  const response = await fetch(`${service.url}/trpc/${path}`, {
    method,
    body: options.body,
    headers: { ...person.session, "content-type": "application/json", ...options.headers },
  });
  const body = (await response.json()) as Answer["body"];
  return { status: response.status, headers: response.headers, body };
}

function expectRpcError({ status, body }: Awaited<ReturnType<typeof call>>, code: ErrorCode): void {
  expectErrorBody(body.error.data, code);
  expect(Object.keys(body.error).sort()).toEqual(["code", "data", "message"]);
  expect(status).toBe(errorCatalogue[code].status);
}

test.each([
  "multipart/form-data; boundary=x",
  "multipart/form-data",
  "Multipart/Form-Data; boundary=x",
  "application/octet-stream",
  "application/x-www-form-urlencoded",
  "text/plain",
  "text/plain; application/json",
  "application/json; charset=utf-16",
])("a form, which a page of any site can post, runs no mutation: %s", async (type) => {
  const body = "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--\r\n";
  const answer = await call("POST", "auth.logout", { body, headers: { "content-type": type } });
  expectRpcError(answer, "unsupported_media_type");
  const inBatch = await call("POST", "auth.logout?batch=1", { body, headers: { "content-type": type } });
  expectRpcError(inBatch, "unsupported_media_type");
  expect((await person.get("/auth/me")).status).toBe(200);
});

test("GET runs no mutation and POST no query, and the response says which method to use", async () => {
  const got = await call("GET", "auth.logout");
  expectRpcError(got, "method_not_allowed");
  expect(got.headers.get("allow")).toBe("POST");
  expect((await person.get("/auth/me")).status).toBe(200);
  const posted = await call("POST", "auth.me", { body: "{}" });
  expectRpcError(posted, "method_not_allowed");
  expect(posted.headers.get("allow")).toBe("GET");
});

test.each(["PUT", "PATCH", "DELETE", "OPTIONS"])("%s is 405", async (method) => {
  const answer = await call(method, "auth.me");
  expectRpcError(answer, "method_not_allowed");
  expect(answer.headers.get("allow")).toBe("GET, POST");
});

test.each([
  "tasks.nothing",
  "nothing",
  "tasks",
  "tasks.create.more",
  "constructor",
  "__proto__",
  "tasks.__proto__",
  "toString",
  "_def",
  "%00",
  "x/tasks.list",
  "",
])("an unknown procedure is 404: %s", async (path) => {
  expectRpcError(await call("GET", path), "not_found");
  expectRpcError(await call("POST", path, { body: "{}" }), "not_found");
});

test.each(["{", "undefined", "%zz", "%ff", '"text"', "7", "[]", "[1]"])(
  "a malformed or misshaped input in the query is 400: %s",
  async (input) => {
    expectRpcError(await call("GET", `tasks.list?input=${input}`), "invalid_input");
  },
);

test("odd values of tRPC's own parameters get 400 or have no effect", async () => {
  for (const query of ["connectionParams=garbage", "connectionParams=%7B%22a%22%3A1%7D", "batch=1&input=%5B%5D"]) {
    const answer = await call("GET", `tasks.list?${query}`);
    expect([200, 400]).toContain(answer.status);
    const first = Array.isArray(answer.body) ? answer.body[0] : answer.body;
    if (answer.status === 400) expectRpcError({ ...answer, body: first }, "invalid_input");
  }
  expectRpcError(await call("GET", "%zz"), "invalid_input");
  const streamed = await call("GET", "auth.nothing", { headers: { "trpc-accept": "application/jsonl" } });
  expectRpcError(streamed, "not_found");
});

type BodyCase = [name: string, body: string | Uint8Array | undefined, code: ErrorCode, headers?: object];

test.each<BodyCase>([
  ["broken JSON", "{", "invalid_input"],
  ["a list", "[]", "invalid_input"],
  ["text", '"x"', "invalid_input"],
  ["null", "null", "invalid_input"],
  ["no body", undefined, "invalid_input"],
  ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), "invalid_input"],
  ["broken gzip", "{}", "invalid_input", { "content-encoding": "gzip" }],
  ["too large", JSON.stringify({ title: "x".repeat(300_000) }), "payload_too_large"],
  ["too large when inflated", gzipSync(Buffer.alloc(9e6, " ")), "payload_too_large", { "content-encoding": "gzip" }],
])("a body is read as over REST: %s", async (_name, body, code, headers = {}) => {
  expectRpcError(await call("POST", "tasks.create", { body, headers }), code);
});

test("a body compressed with gzip is read", async () => {
  const body = gzipSync(JSON.stringify(taskInput()));
  expect((await call("POST", "tasks.create", { body, headers: { "content-encoding": "gzip" } })).status).toBe(200);
});

test("a batch of 20 is answered call by call, and one of 21 is refused", async () => {
  const batch = (calls: number) => call("GET", `${Array(calls).fill("tasks.list").join(",")}?batch=1&input=%7B%7D`);
  const allowed = await batch(20);
  expect(allowed.body).toHaveLength(20);
  expectRpcError(await batch(21), "invalid_input");
});

test("in a batch each call has its own result or error", async () => {
  const task = await postTask(person);
  const input = encodeURIComponent(
    JSON.stringify({ 0: { id: task.id }, 1: { id: crypto.randomUUID() }, 2: { id: 5 } }),
  );
  const { body } = await call("GET", `tasks.read,tasks.read,tasks.read,tasks.none?batch=1&input=${input}`);
  expect(body[0].result.data.task.id).toBe(task.id);
  expectErrorBody(body[1].error.data, "not_found");
  expectErrorBody(body[2].error.data, "invalid_input");
  expectErrorBody(body[3].error.data, "not_found");
});

test("a batch of one call has the status of its error", async () => {
  const { status, body } = await call("GET", "tasks.none?batch=1&input=%7B%7D");
  expect(status).toBe(404);
  expectErrorBody(body[0].error.data, "not_found");
});

test("an unknown field is refused even where there is no input", async () => {
  for (const path of ["auth.me", "wallet.read", "keys.list"]) {
    const answer = await call("GET", `${path}?input=${encodeURIComponent('{"x":1}')}`);
    expectRpcError(answer, "invalid_input");
    expect(issuePaths(answer.body.error.data)).toEqual(["x"]);
  }
  const logout = await call("POST", "auth.logout", { body: '{"x":1}' });
  expectRpcError(logout, "invalid_input");
});

test("an id that is not a UUID is not found, on both transports", async () => {
  const overRest = await rest(service.url, "GET", "/tasks/nonsense");
  const overRpc = await rpcError(rpc(service.url).tasks.read.query({ id: "nonsense" }));
  expect([overRest.status, overRpc?.status]).toEqual([404, 404]);
  expect(overRpc?.body.error).toBe("not_found");
});
