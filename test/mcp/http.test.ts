import getPort from "get-port";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import type { OverloadLimits } from "../../server/http/overload.ts";
import { serve } from "../../server/http/server.ts";
import { createPerson } from "../factories/people.ts";
import { type Credentials, rest } from "../setup/client.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const appOrigin = "https://app.example.com";
const service = useService({
  settings: { appOrigins: [appOrigin] },
  limiter: { limits: { reads: 20 } },
});

let id = 0;
const message = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: ++id, method, params });
const callOf = (name: string, args: object = {}) => message("tools/call", { name, arguments: args });

const post = (body: unknown, credentials: Credentials = {}, headers: Record<string, string> = {}) =>
  rest(service.url, "POST", "/mcp", { body, credentials, headers });

test("without a valid API key the answer is the API's 401, which names the scheme; a cookie does not authenticate", async () => {
  const person = await createPerson(service);
  const bearer = { authorization: "Bearer rb_live_AAAAAAAAAAAAAAAAAAAAAA" };
  for (const credentials of [
    {},
    person.session,
    bearer,
    { authorization: "Bearer" },
    { ...person.session, ...bearer },
  ]) {
    const { status, body, headers } = await post(message("tools/list"), credentials);
    expect(status).toBe(401);
    expectErrorBody(body, "unauthenticated");
    expect(headers.get("www-authenticate")).toMatch(/^Bearer /);
  }
});

test("another method, another type, and what is no single message are refused as anywhere else", async () => {
  const { key } = await createPerson(service);
  for (const method of ["GET", "DELETE", "PUT"]) {
    const answer = await rest(service.url, method, "/mcp", { credentials: key });
    expect(answer.status).toBe(405);
    expectErrorBody(answer.body, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("POST");
  }
  const raw = async (body: string, headers: Record<string, string> = {}) => {
    const init = { method: "POST", headers: { "content-type": "application/json", ...key, ...headers }, body };
    const response = await fetch(`${service.url}/mcp`, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const text = JSON.stringify(message("tools/list"));
  const expectRefused = async (
    answer: Promise<{ status: number; body: Record<string, unknown> }>,
    status: number,
    code: "invalid_input" | "payload_too_large" | "unsupported_media_type" | "not_found",
  ) => {
    const { status: actual, body } = await answer;
    expect(actual).toBe(status);
    expectErrorBody(body, code);
  };
  await expectRefused(raw(text, { "content-type": "text/plain" }), 415, "unsupported_media_type");
  await expectRefused(raw("{"), 400, "invalid_input");
  await expectRefused(raw("[".repeat(100)), 400, "invalid_input");
  await expectRefused(raw(`[${text},${text}]`), 400, "invalid_input");
  await expectRefused(raw(JSON.stringify(callOf("deliver", { text: "x".repeat(300_000) }))), 413, "payload_too_large");
  await expectRefused(raw(text, { "Dry-Run": "true" }), 400, "invalid_input");
  await expectRefused(raw(text, { "Idempotency-Key": "a" }), 400, "invalid_input");
  await expectRefused(rest(service.url, "POST", "/mcp/x", { body: {}, credentials: key }), 404, "not_found");
});

test("what breaks the protocol's own rules gets the protocol's errors", async () => {
  const { key } = await createPerson(service);
  const errorOf = async (body: unknown) => (await post(body, key)).body.error;
  expect(await errorOf(message("tasks/destroy"))).toMatchObject({ code: -32601 });
  expect(await errorOf(callOf("drop_tables"))).toMatchObject({ code: -32602 });
  for (const name of ["__proto__", "constructor", "hasOwnProperty"]) {
    expect(await errorOf(message(name)), name).toMatchObject({ code: -32601 });
  }
  expect(await errorOf(message("initialize", { capabilities: 1 }))).toMatchObject({ code: -32602 });
  expect(await errorOf({ hello: "world" })).toMatchObject({ code: -32600 });
  expect(await errorOf(message("subscriptions/listen"))).toMatchObject({ code: expect.any(Number) });
});

test("a page of another origin is refused, also under DNS rebinding; those of an app are let in", async () => {
  const { key } = await createPerson(service);
  for (const origin of ["https://evil.example", "null", "http://rebound.example"]) {
    const { status, body, headers } = await post(message("tools/list"), key, { Origin: origin });
    expect(status).toBe(403);
    expectErrorBody(body, "forbidden");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  }
  expect((await post(message("tools/list"), key, { Origin: service.url })).status).toBe(200);
  expect((await post(message("tools/list"), key, { Origin: appOrigin })).status).toBe(200);
  const preflight = await rest(service.url, "OPTIONS", "/mcp", {
    headers: { Origin: appOrigin, "Access-Control-Request-Method": "POST" },
  });
  expect(preflight.headers.get("access-control-allow-headers")).toMatch(/Mcp-Protocol-Version, Mcp-Method, Mcp-Name/);
});

test("every message counts in the rate limits, whatever it is, and a flood is refused like any other", async () => {
  const person = await createPerson(service);
  const bodies = [
    message("tools/list"),
    message("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } }),
    { jsonrpc: "2.0", method: "notifications/initialized" },
    message("nonsense"),
    { broken: true },
    callOf("drop_tables"),
    callOf("get_task", { taskId: "no id" }),
    callOf("get_wallet"),
    message("resources/read", { uri: "rebid://wallet" }),
  ];
  // get_wallet calls three procedures.
  const expected = bodies.length + 2;
  for (const body of bodies) await post(body, person.key);
  const after = await person.get("/wallet");
  expect(after.headers.get("ratelimit")).toMatch(new RegExp(`"reads";r=${20 - expected - 1};`));
  const flood = await Promise.all(Array.from({ length: 30 }, () => post(message("tools/list"), person.key)));
  const refused = flood.filter(({ status }) => status === 429);
  expect(refused.length).toBe(30 - (20 - expected - 1));
  expectErrorBody(refused[0]?.body, "rate_limited");
  expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
  // Inside a tool, it is the tool's error.
  const { body } = await post(callOf("get_wallet"), person.key);
  expect(JSON.parse(body.result.content[1].text)).toMatchObject({
    ...{ error: "rate_limited", status: 429, retryAfterSeconds: expect.any(Number) },
  });
});

test("answers carry the request id, and metrics know the tool", async () => {
  const { key } = await createPerson(service);
  const { headers } = await post(callOf("get_wallet"), key, { "X-Request-Id": "my-request" });
  expect(headers.get("x-request-id")).toBe("my-request");
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  const metrics = await fetch(`${service.url}/metrics`);
  expect(await metrics.text()).toContain('operation="mcp.get_wallet"');
});

test("a refusal is in the security log, with the key that it was refused to", async () => {
  const person = await createPerson(service);
  const { body } = await rest(service.url, "POST", "/keys", {
    body: { label: "a", scopes: [] },
    credentials: person.session,
  });
  await post(callOf("withdraw_bid", { bidId: person.id }), { authorization: `Bearer ${body.raw}` });
  await post(message("tools/list"));
  const denied = service.securityEntries.filter(({ action }) => action === "access.denied");
  expect(denied).toContainEqual(
    expect.objectContaining({ keyId: body.key?.id ?? body.id, code: "missing_scope", procedure: "bids.withdraw" }),
  );
  expect(denied).toContainEqual(expect.objectContaining({ via: "anonymous", code: "unauthenticated", door: "mcp" }));
});

/** The same service with other bounds, on a port of its own. */
async function serveWith(limits: Partial<OverloadLimits>): Promise<string> {
  const port = await getPort();
  const unlimited = { ...service.services, limiter: null };
  const server = await serve(createApp(unlimited, { trustProxy: false }, limits), port, "127.0.0.1");
  onTestFinished(server.stop);
  return `http://127.0.0.1:${port}`;
}

test("hundreds of messages at once are answered or refused, and the caller's turns and the process's bound hold", async () => {
  const { key } = await createPerson(service);
  const url = await serveWith({ turnsPerCaller: 2, maxWaitingPerCaller: 50, maxCallsUnderWay: 200 });
  const answers = await Promise.all(
    Array.from({ length: 400 }, () => rest(url, "POST", "/mcp", { body: callOf("get_reputation"), credentials: key })),
  );
  const outcomes = answers.map(({ status, body }) => {
    if (status !== 200) return `${status} ${body.error}`;
    return body.result.isError ? JSON.parse(body.result.content[1].text).error : "answered";
  });
  // Refused before any work, refused a turn, or answered.
  expect(
    [...new Set(outcomes)].filter((each) => !["503 unavailable", "unavailable", "answered"].includes(each)),
  ).toEqual([]);
  expect(outcomes.filter((each) => each === "answered").length).toBeGreaterThan(50);
  expect(
    (await rest(url, "POST", "/mcp", { body: callOf("get_wallet"), credentials: key })).body.result.isError,
  ).toBeUndefined();
});
