import { once } from "node:events";
import { connect } from "node:net";
import getPort from "get-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { type HttpServer, serve } from "../../server/http/server.ts";
import { expectError, expectErrorBody } from "../setup/expectError.ts";
import { rawRequest } from "../setup/rawRequest.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let server: HttpServer;
let url: string;

beforeAll(async () => {
  const port = await getPort();
  server = await serve(createApp(service.services, { trustProxy: false }), port, "127.0.0.1");
  url = `http://127.0.0.1:${port}`;
});

afterAll(() => server.stop());

const next = "GET /wallet HTTP/1.1\r\nHost: x\r\n\r\n";

function post(path: string, headers: string[], body: string): string {
  return [`POST ${path} HTTP/1.1`, "Host: x", ...headers, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join(
    "\r\n",
  );
}

// A refused body that is itself a request. If its rest were read as the next request, there would be a third response.
const smuggled = `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

test.each([
  ["415", post("/auth/login", ["Content-Type: text/plain"], smuggled), "unsupported_media_type"],
  ["413", post("/auth/login", ["Content-Type: application/json"], smuggled.repeat(5_000)), "payload_too_large"],
  [
    "415 over RPC",
    post("/trpc/auth.logout", ["Content-Type: multipart/form-data"], smuggled),
    "unsupported_media_type",
  ],
  ["404", post("/nothing", ["Content-Type: application/json"], smuggled), "not_found"],
  ["405", post("/auth/me", ["Content-Type: application/json"], smuggled), "method_not_allowed"],
  [
    "415 of a chunked body",
    `POST /auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    "unsupported_media_type",
  ],
] as const)("the rest of a body refused with %s is not the next request", async (_name, request, code) => {
  const [refused, answered, ...rest] = await rawRequest(url, request + next + next, 3);
  expect(refused?.body.error?.data?.error ?? refused?.body.error).toBe(code);
  expect(answered?.body.error).toBe("unauthenticated");
  expect(rest.map(({ body }) => body.error)).toEqual(["unauthenticated"]);
});

test("two bodies on one connection are two requests", async () => {
  const login = post("/auth/login", ["Content-Type: application/json"], '{"email": "a@b.cd", "password": "x"}');
  const answers = await rawRequest(url, login + login, 2);
  expect(answers.map(({ body }) => body.error)).toEqual(["invalid_credentials", "invalid_credentials"]);
});

test("a request for an absolute address is handled as one for its path", async () => {
  const [found, missing] = await rawRequest(
    url,
    "GET http://elsewhere.example/tasks?limit=1 HTTP/1.1\r\nHost: x\r\n\r\nGET http://elsewhere.example HTTP/1.1\r\nHost: x\r\n\r\n",
    2,
  );
  expect([found?.status, found?.body.tasks]).toEqual([200, []]);
  expect([200, 404]).toContain(missing?.status);
});

test.each([
  ["two Host headers", "GET /tasks HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"],
  ["no Host header", "GET /tasks HTTP/1.1\r\n\r\n"],
  [
    "chunks over HTTP/1.0",
    "POST /auth/login HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  ],
])("%s are refused in the shape of every error, and the connection is closed", async (_name, request) => {
  const [answer, second] = await rawRequest(url, request + next, 2);
  if (!answer) throw new Error("no answer");
  expectError(answer, "invalid_input");
  expect(answer.headers.get("connection")).toBe("close");
  expect(second).toBeUndefined();
});

test.each([
  ["no HTTP", "hello\r\n\r\n"],
  ["a NUL in the path", "GET /tasks\0 HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["a space in the path", "GET /tasks x HTTP/1.1\r\nHost: x\r\n\r\n"],
  [
    "both lengths",
    "POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["two lengths", "POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
  ["a negative length", "POST /tasks HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"],
  [
    "a broken chunk",
    "POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  ],
  ["headers without end", `GET /tasks HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(40_000)}\r\n\r\n`],
  ["an unknown method", "FETCH /tasks HTTP/1.1\r\nHost: x\r\n\r\n"],
])("what is no valid HTTP is 400 in the shape of every error: %s", async (_name, request) => {
  const [answer] = await rawRequest(url, request);
  expect(answer?.status).toBe(400);
  expectErrorBody(answer?.body, "invalid_input");
});

test("an unknown expectation is ignored, and 100-continue is granted", async () => {
  const odd = await rawRequest(url, "GET /wallet HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n");
  expect(odd[0]?.body.error).toBe("unauthenticated");
  const login = post("/auth/login", ["Content-Type: application/json", "Expect: 100-continue"], "{}");
  const [granted, answer] = await rawRequest(url, login, 2);
  expect(granted?.status).toBe(100);
  expect(answer?.body.error).toBe("invalid_input");
});

test("a request to upgrade to an unknown protocol is handled as an ordinary request", async () => {
  const headers = "Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
  const [answer] = await rawRequest(url, `GET /wallet HTTP/1.1\r\n${headers}\r\n`);
  expect(answer?.body.error).toBe("unauthenticated");
});

test("a condition that no response can meet is ignored", async () => {
  const [answer] = await rawRequest(url, "GET /tasks HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n");
  expect([answer?.status, answer?.body.tasks]).toEqual([200, []]);
});

test("a target that is not a path gets a response as well", async () => {
  for (const target of ["*", "http://", "http://[::1", "/tasks#x", "/tasks?#", "x"]) {
    const [answer] = await rawRequest(url, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect([target, [200, 400, 404].includes(answer?.status ?? 0)]).toEqual([target, true]);
    expect([target, answer?.text]).not.toMatchObject([target, expect.stringMatching(/node_modules|Cannot GET/)]);
  }
});

test.each(["/tasks", "/trpc/tasks.list", "/trpc/tasks.list,tasks.list?batch=1"])(
  "a host that is none is refused, and the service keeps running: %s",
  async (path) => {
    for (const host of ["", "[", "a b", "x:99999", "user:password@x", "x/y", "x\\y"]) {
      const [answer] = await rawRequest(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect([host, answer?.status]).toEqual([host, 400]);
      expectErrorBody(answer?.body.error.data ?? answer?.body, "invalid_input");
    }
    // A lone call over RPC is answered in chunks, which `rawRequest` does not read.
    for (const target of [
      `http://user:password@x${path}`,
      `http://[::1${path}`,
      `http://x:99999${path}`,
      "/trpc/\\[",
    ]) {
      const status = await statusOf(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect([200, 400, 404]).toContain(status);
    }
  },
);

async function statusOf(bytes: string): Promise<number> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(bytes);
  const [head] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return Number(head.toString().split(" ", 2)[1]);
}
