import { createTRPCClient, httpBatchLink, TRPCClientError } from "@trpc/client";
import { beforeAll, expect, test } from "vitest";
import { type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import type { AppRouter } from "../../server/procedures/router.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { postTask } from "../factories/tasks.ts";
import type { Answer } from "../setup/client.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;
let taskId: string;
const nobody = crypto.randomUUID();

beforeAll(async () => {
  person = await createPerson(service, { cents: 1_000_000 });
  taskId = (await postTask(person)).id;
});

async function call(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${service.url}/trpc/${path}`, {
    ...init,
    headers: { "content-type": "application/json", ...init.headers },
  });
  const text = await response.text();
  expect(response.headers.get("content-type")).toMatch(/^application\/json\b/);
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

const read = (...ids: string[]) => {
  const inputs = Object.fromEntries(ids.map((id, index) => [index, { id }]));
  const paths = ids.map(() => "tasks.read").join(",");
  return call(`${paths}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`);
};

test("a batch has the common status of its calls, else 207", async () => {
  expect((await read(taskId, taskId)).status).toBe(200);
  expect((await read(nobody, nobody)).status).toBe(404);
  expect((await read(nobody)).status).toBe(404);
  expect((await read(taskId, nobody)).status).toBe(207);
  expect((await call("tasks.none,auth.me?batch=1&input=%7B%7D")).status).toBe(207);
});

test("a batch of calls by the wrong method says which one to use", async () => {
  const answer = await call("auth.logout,auth.logout?batch=1");
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});

function expectRefused({ status, body }: Answer, code: ErrorCode): void {
  expect(status).toBe(errorCatalogue[code].status);
  for (const answer of Array.isArray(body) ? body : [body]) {
    expect(Object.keys(answer)).toEqual(["error"]);
    expect(Object.keys(answer.error).sort()).toEqual(["code", "data", "message"]);
    expectErrorBody(answer.error.data, code);
  }
}

test("what is refused before the procedures is JSON with its own status, for a lone call and for a batch", async () => {
  const post = (headers: Record<string, string>, body = "{}") => ({ method: "POST", headers, body });
  const elsewhere = { origin: "https://elsewhere.example", ...person.session };
  for (const path of ["auth.logout", "auth.logout,auth.logout?batch=1"]) {
    expectRefused(await call(path, post(elsewhere)), "forbidden");
    expectRefused(await call(path, post({ "content-type": "text/plain" })), "unsupported_media_type");
    expectRefused(await call(path, post({}, " ".repeat(262_145))), "payload_too_large");
    expectRefused(await call(path, post({}, "{")), "invalid_input");
    expectRefused(await call(path, { method: "PUT" }), "method_not_allowed");
  }
  const many = Array(21).fill("auth.me").join(",");
  expectRefused(await call(`${many}?batch=1`), "invalid_input");
  expectRefused(await call(`${many.replaceAll(",", "%2C")}?batch=1`), "invalid_input");
  expectRefused(await call("auth.me,auth.logout?batch=1"), "invalid_input");
  expectRefused(await call("auth.me/x"), "not_found");
  expect((await person.get("/auth/me")).status).toBe(200);
});

test("tRPC's own client reads every such answer of a batch", async () => {
  const clientWith = (headers: Record<string, string>) =>
    createTRPCClient<AppRouter>({ links: [httpBatchLink({ url: `${service.url}/trpc`, headers })] });
  const outcome = async (result: Promise<unknown>) => {
    try {
      await result;
      return "ok";
    } catch (error) {
      if (!(error instanceof TRPCClientError)) throw error;
      const response: unknown = error.meta?.response;
      return [response instanceof Response ? response.status : undefined, error.data?.error];
    }
  };
  const client = clientWith({});
  const mixed = [client.tasks.read.query({ id: taskId }), client.tasks.read.query({ id: nobody })];
  expect(await Promise.all(mixed.map(outcome))).toEqual(["ok", [207, "not_found"]]);
  const failed = [client.auth.me.query(), client.wallet.read.query()];
  expect(await Promise.all(failed.map(outcome))).toEqual(Array(2).fill([401, "unauthenticated"]));
  const foreign = clientWith({ origin: "https://elsewhere.example", ...person.session });
  const refused = [foreign.auth.logout.mutate(), foreign.auth.logout.mutate()];
  expect(await Promise.all(refused.map(outcome))).toEqual(Array(2).fill([403, "forbidden"]));
});
