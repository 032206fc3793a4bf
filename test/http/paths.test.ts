import { expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { postTask, taskInput } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { rawRequest } from "../setup/rawRequest.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

test.each([
  ["PUT", "/tasks", "GET, HEAD, POST"],
  ["DELETE", "/tasks", "GET, HEAD, POST"],
  ["OPTIONS", "/tasks", "GET, HEAD, POST"],
  ["GET", "/auth/signup", "POST"],
  ["HEAD", "/auth/signup", "POST"],
  ["POST", "/wallet", "GET, HEAD"],
  ["GET", "/keys/6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "DELETE"],
  ["GET", "/tasks/anything/cancel", "POST"],
  ["OPTIONS", "/payouts/onboarding", "POST"],
  ["PATCH", "/tasks/anything/files/init", "POST"],
  ["GET", "/processor/events", "POST"],
  ["POST", "/openapi.json", "GET, HEAD"],
  ["POST", "/livez", "GET, HEAD"],
  ["DELETE", "/", "GET, HEAD"],
])("a wrong method on a known path is 405 and says what is allowed: %s %s", async (method, path, allow) => {
  const answer = await rest(service.url, method, path);
  expect(answer.headers.get("allow")).toBe(allow);
  if (method === "HEAD") expect([answer.status, answer.text]).toEqual([405, ""]);
  else expectError(answer, "method_not_allowed");
});

test.each([
  "/nothing",
  "/tasks//",
  "//tasks",
  "/docs//",
  "/Tasks",
  "/tasks/x/y/z",
  "/%74asks%2f",
  "/tasks%2F",
  "/tasks/%00",
  "/tasks/%",
  "/tasks/%zz",
  "/tasks/%ff",
  "/tasks/%E2%82",
  "/tasks/..%2f..%2fetc%2fpasswd",
  "/tasks/%2e%2e/wallet",
  "/tasks/.",
  "/tasks/%2e",
  "/tasks/../bids",
  "/tasks/./bids",
  "/tasks/%2e%2e/bids",
  "/tasks/%F0%9F%92%B8",
  "/tasks/not-a-uuid",
  "/tasks/6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  "/wp-login.php",
  "/docs/../../package.json",
  "/docs/%2e%2e%2fpackage.json",
])("an unknown or malformed path is 404: %s", async (path) => {
  // Not with fetch, which normalises paths before sending them.
  const [answer] = await rawRequest(service.url, Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`));
  if (!answer) throw new Error("no answer");
  expectError(answer, "not_found");
});

test("a trailing slash names the same operation or page", async () => {
  const buyer = await createPerson(service, { cents: 20_000 });
  const posted = await buyer.post("/tasks/", taskInput());
  expect(posted.status).toBe(201);
  const { id } = posted.body.task;
  expect((await buyer.get(`/tasks/${id}/`)).body.task.id).toBe(id);
  expect((await buyer.patch(`/tasks/${id}/`, { title: "Another" })).body.task.title).toBe("Another");
  expect((await buyer.post(`/tasks/${id}/cancel/`)).body.task.status).toBe("cancelled");
  const wrong = await rest(service.url, "PUT", "/tasks/?x=1");
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  for (const path of ["/openapi.json/", "/livez/", "/topup/done/"]) {
    expect((await rest(service.url, "GET", path)).status, path).toBe(200);
  }
});

test("escapes in a path are decoded", async () => {
  const buyer = await createPerson(service, { cents: 10_000 });
  const task = await postTask(buyer);
  const escaped = task.id.replaceAll("-", "%2D");
  expect((await rest(service.url, "GET", `/%74asks/${escaped}`)).body.task.id).toBe(task.id);
});

test("HEAD responds like GET, without the body", async () => {
  for (const path of ["/tasks", "/openapi.json", "/livez", "/"]) {
    const got = await rest(service.url, "GET", path);
    const head = await rest(service.url, "HEAD", path);
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toMatch(/^\d+$/);
    expect(head.headers.get("content-length")).toBe(got.headers.get("content-length"));
  }
});

test("an acceptable request id of the client's comes back, and any other is replaced", async () => {
  const kept = await rest(service.url, "GET", "/nothing", { headers: { "x-request-id": "trace-1.2:3" } });
  expect(kept.body.requestId).toBe("trace-1.2:3");
  const replaced = await rest(service.url, "GET", "/nothing", { headers: { "x-request-id": "<script>" } });
  expectError(replaced, "not_found");
  expect(replaced.body.requestId).not.toContain("script");
});
