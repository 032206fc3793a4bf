import {
  BadGatewayError,
  ConflictError,
  InternalServerError,
  Rebid,
  RebidConnectionError,
  RebidError,
  type RebidOptions,
  RebidTimeoutError,
  ServiceUnavailableError,
  TooManyRequestsError,
} from "@rebid/sdk";
import { expect, onTestFinished, test, vi } from "vitest";
import { createPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { agentOf, failureOf, noPauses } from "./clients.ts";
import { halfAnswer, hang, json, refusal, reset, useScriptedServer } from "./scriptedServer.ts";

const service = useService();
const server = useScriptedServer();

function client(options: Partial<RebidOptions> = {}) {
  const { pausesMs, timing } = noPauses();
  return { pausesMs, rebid: new Rebid({ baseUrl: server.url, apiKey: "rb_live_TEST", timing, ...options }) };
}

const wallet = json(200, { availableCents: 1, heldCents: 2 });
const created = json(201, { task: { id: "t1" } });

test("a change whose answer is lost is made once: its repeats have its key, and money moves once", async () => {
  const buyer = await createPerson(service, { cents: 100_000 });
  const { timing } = noPauses();
  const keys: (string | null)[] = [];
  const losing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    keys.push(new Headers(init?.headers).get("Idempotency-Key"));
    if (keys.length > 2) return response;
    await response.arrayBuffer();
    throw new TypeError("the connection broke");
  };
  const answer = await agentOf(service, buyer, { fetch: losing, timing }).tasks.create(taskInput()).withResponse();
  expect(answer.headers.get("Idempotent-Replayed")).toBe("true");
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  const { heldCents } = await agentOf(service, buyer).wallet.read();
  expect(heldCents).toBe(10_000);
});

test("each change has a key of its own, unless it is given one; reads and tried changes have none", async () => {
  const { rebid } = client();
  server.play(created);
  await rebid.tasks.create(taskInput());
  await rebid.tasks.create(taskInput());
  await rebid.tasks.create(taskInput(), { idempotencyKey: "mine" });
  await rebid.tasks.create(taskInput(), { dryRun: true });
  const keys = server.requests.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toEqual([
    expect.stringMatching(/^[0-9a-f]{32}$/),
    expect.stringMatching(/^[0-9a-f]{32}$/),
    "mine",
    undefined,
  ]);
  expect(keys[0]).not.toBe(keys[1]);
  server.play(wallet);
  await rebid.wallet.read();
  expect(server.requests[0]?.headers["idempotency-key"]).toBeUndefined();
});

test.each([
  ["a broken connection", reset, RebidConnectionError],
  ["half an answer", halfAnswer, RebidConnectionError],
  ["500", refusal(500, "internal_error"), InternalServerError],
  ["502", refusal(502, "processor_unavailable"), BadGatewayError],
  ["503", refusal(503, "unavailable"), ServiceUnavailableError],
  ["a proxy's page", json(504, "a page"), RebidError],
  ["429", refusal(429, "rate_limited"), TooManyRequestsError],
])("after %s, the request is repeated twice, with growing pauses", async (_name, step, errorClass) => {
  const { rebid, pausesMs } = client();
  server.play(step, step, wallet);
  expect(await rebid.wallet.read()).toEqual({ availableCents: 1, heldCents: 2 });
  expect(pausesMs).toEqual([375, 750]);
  expect(server.requests).toHaveLength(3);

  server.play(step);
  expect(await failureOf(rebid.wallet.read())).toBeInstanceOf(errorClass);
  expect(server.requests).toHaveLength(3);
});

test("the pauses are between half and the whole of a doubling time, at most 8 seconds", async () => {
  for (const [random, expected] of [
    [0, [250, 500, 1_000, 2_000, 4_000, 4_000]],
    [1, [500, 1_000, 2_000, 4_000, 8_000, 8_000]],
  ] as const) {
    const { timing, pausesMs } = noPauses();
    server.play(reset, reset, reset, reset, reset, reset, wallet);
    const { rebid } = client({ timing: { ...timing, random: () => random }, maxRetries: 6 });
    await rebid.wallet.read();
    expect(pausesMs).toEqual(expected);
  }
});

test("Retry-After is kept, in seconds or as a date, and never undercut", async () => {
  const { rebid, pausesMs } = client();
  server.play(refusal(429, "rate_limited", { "retry-after": "7" }), wallet);
  await rebid.wallet.read();
  expect(pausesMs).toEqual([7_188]);
  const date = new Date(Date.now() + 30_000).toUTCString();
  server.play(refusal(503, "unavailable", { "retry-after": date }), wallet);
  await rebid.wallet.read();
  expect(pausesMs[1]).toBeGreaterThan(27_000);
  expect(pausesMs[1]).toBeLessThan(32_000);
});

test("who would have to wait for more than a minute is told, and how long", async () => {
  const { rebid, pausesMs } = client();
  server.play(refusal(429, "spam_guard", { "retry-after": "540" }));
  const error = await failureOf(rebid.tasks.create(taskInput()));
  expect(error).toMatchObject({ code: "spam_guard", retryAfter: 540 });
  expect([server.requests.length, pausesMs]).toEqual([1, []]);
});

test.each([
  [400, "invalid_input"],
  [401, "unauthenticated"],
  [402, "insufficient_funds"],
  [403, "spend_limit"],
  [404, "not_found"],
  [409, "idempotency_conflict"],
  [410, "cursor_expired"],
])("%d is not repeated", async (status, code) => {
  const { rebid } = client();
  server.play(refusal(status, code));
  expect(await failureOf(rebid.tasks.create(taskInput()))).toMatchObject({ status, code });
  expect(server.requests).toHaveLength(1);
});

test("what the service takes no key for is repeated only when it was not done for sure", async () => {
  const { rebid } = client();
  const signup = () => rebid.auth.signup({ email: "a@example.com", password: "a long password", displayName: "A" });
  for (const step of [reset, halfAnswer, refusal(500, "internal_error"), refusal(503, "unavailable")]) {
    server.play(step, json(201, { user: {} }));
    expect(await failureOf(signup())).toBeInstanceOf(Error);
    expect(server.requests).toHaveLength(1);
  }
  server.play(refusal(429, "rate_limited", { "retry-after": "1" }), json(201, { user: {} }));
  await signup();
  expect(server.requests).toHaveLength(2);
});

test("maxRetries can be chosen for the client and for a call", async () => {
  const { rebid } = client({ maxRetries: 0 });
  server.play(reset);
  await failureOf(rebid.wallet.read());
  expect(server.requests).toHaveLength(1);
  server.play(reset);
  await failureOf(rebid.wallet.read({ maxRetries: 4 }));
  expect(server.requests).toHaveLength(5);
});

test("an answer that does not come in time is a time-out of its own class, and the request is repeated", async () => {
  const { rebid } = client();
  server.play(hang, wallet);
  expect(await rebid.wallet.read({ timeoutMs: 700 })).toEqual({ availableCents: 1, heldCents: 2 });
  expect(server.requests).toHaveLength(2);
  // No server here: a request that is given up so soon could reach it during a later test.
  let attempts = 0;
  const silent: typeof fetch = (_input, init) => {
    attempts++;
    return new Promise((_answer, giveUp) => {
      init?.signal?.addEventListener("abort", () => giveUp(init.signal?.reason));
    });
  };
  const error = await failureOf(client({ fetch: silent }).rebid.wallet.read({ timeoutMs: 20, maxRetries: 1 }));
  expect(error).toBeInstanceOf(RebidTimeoutError);
  expect(error).toBeInstanceOf(RebidConnectionError);
  expect(attempts).toBe(2);
});

test("a time-out or a number of retries that is no number is refused, and Infinity is no limit", async () => {
  const { rebid } = client();
  server.play(wallet);
  for (const options of [{ timeoutMs: Number.NaN }, { timeoutMs: 0 }, { maxRetries: Number.NaN }])
    expect(await failureOf(rebid.wallet.read(options))).toBeInstanceOf(TypeError);
  expect(server.requests).toHaveLength(0);
  expect(await rebid.wallet.read({ timeoutMs: Number.POSITIVE_INFINITY })).toEqual({ availableCents: 1, heldCents: 2 });
  expect(server.requests).toHaveLength(1);
});

test("the time-out is over the whole answer, not only its beginning", async () => {
  const { rebid } = client();
  server.play((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write("{");
  });
  expect(await failureOf(rebid.wallet.read({ timeoutMs: 50, maxRetries: 0 }))).toBeInstanceOf(RebidTimeoutError);
});

test("a signal ends a request that is under way, and a pause, with its own reason", async () => {
  const { rebid } = client();
  const reason = new Error("I have changed my mind.");
  const controller = new AbortController();
  server.play(() => controller.abort(reason));
  expect(await failureOf(rebid.tasks.create(taskInput(), { signal: controller.signal }))).toBe(reason);
  expect(server.requests).toHaveLength(1);

  const second = new AbortController();
  const { rebid: pausing } = client({
    timing: {
      sleep: (_milliseconds, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
          second.abort(reason);
        }),
      random: Math.random,
    },
  });
  server.play(reset);
  expect(await failureOf(pausing.wallet.read({ signal: second.signal }))).toBe(reason);
  expect(server.requests).toHaveLength(1);

  server.play(wallet);
  expect(await failureOf(rebid.wallet.read({ signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect(server.requests).toHaveLength(0);
});

test("the real pause ends with its signal too", async () => {
  const controller = new AbortController();
  const rebid = new Rebid({ baseUrl: server.url });
  server.play((response) => {
    refusal(503, "unavailable", { "retry-after": "50" })(response, {} as never);
    setImmediate(() => controller.abort(new Error("enough")));
  });
  expect(await failureOf(rebid.wallet.read({ signal: controller.signal }))).toMatchObject({ message: "enough" });
});

test("many calls with one signal leave no listeners behind", async () => {
  const { rebid } = client();
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...parameters: Parameters<typeof add>) => {
    listeners++;
    add(...parameters);
  };
  signal.removeEventListener = (...parameters: Parameters<typeof remove>) => {
    listeners--;
    remove(...parameters);
  };
  server.play(reset, wallet);
  for (let count = 0; count < 5; count++) await rebid.wallet.read({ signal });
  expect(listeners).toBe(0);
});

test("what is not the service's answer is an error with the body, not an output", async () => {
  const { rebid } = client();
  server.play((response) => response.end("<html>a hotel's login page</html>"));
  const page = await failureOf(rebid.wallet.read());
  expect(page).toMatchObject({ status: 200, code: "unexpected_response", body: "<html>a hotel's login page</html>" });

  server.play(json(409, { error: "a_newer_code", message: "m", requestId: "r" }));
  const newer = await failureOf(rebid.wallet.read());
  expect(newer).toBeInstanceOf(ConflictError);
  expect(newer).toMatchObject({ code: "unexpected_response", body: { error: "a_newer_code" } });

  server.play(json(400, { error: "invalid_input", message: "m", requestId: "r", issues: "not a list" }));
  expect(await failureOf(rebid.wallet.read())).toBeInstanceOf(RebidError);
  server.play(json(418, null));
  expect(await failureOf(rebid.wallet.read())).toMatchObject({ status: 418, code: "unexpected_response" });
});

test("a redirect is not followed: a change would arrive as a read, and the key at another host", async () => {
  const { rebid } = client();
  server.play((response) => response.writeHead(301, { location: `${server.url}/elsewhere` }).end());
  const error = await failureOf(rebid.tasks.create(taskInput()));
  expect(error).toMatchObject({ status: 301, message: expect.stringMatching("baseUrl") });
  expect(server.requests).toHaveLength(1);
});

test("headers of the client and of the call are sent, and the key is always the client's", async () => {
  const { rebid } = client({ headers: { "X-Team": "a", "X-Both": "client" } });
  server.play(wallet);
  await rebid.wallet.read({ headers: { "X-Both": "call" } });
  expect(server.requests[0]?.headers).toMatchObject({
    "x-team": "a",
    "x-both": "call",
    authorization: "Bearer rb_live_TEST",
  });
});

test("the logger hears of repeats and failures", async () => {
  const lines: unknown[][] = [];
  const logger = {
    debug: (...line: unknown[]) => void lines.push(line),
    warn: (...line: unknown[]) => void lines.push(line),
  };
  const { rebid } = client({ logger, maxRetries: 1 });
  server.play(refusal(503, "unavailable", { "x-request-id": "r1" }));
  await failureOf(rebid.tasks.cancel({ id: "t1" }));
  expect(lines).toEqual([
    [
      "Rebid: a request is repeated",
      { operation: "POST /tasks/{id}/cancel", status: 503, requestId: "r1", delayMs: 375 },
    ],
    ["Rebid: a request failed", { operation: "POST /tasks/{id}/cancel", status: 503, requestId: "r1", attempts: 2 }],
  ]);
});

test("the level says what is logged, on the console by default", async () => {
  const lines: string[] = [];
  const logger = { debug: () => void lines.push("debug"), warn: () => void lines.push("warn") };
  const loggedWith = async (options: Partial<RebidOptions>) => {
    lines.length = 0;
    server.play(refusal(503, "unavailable"), wallet);
    await client(options).rebid.wallet.read();
    return [...lines];
  };
  expect(await loggedWith({ logger })).toEqual(["warn", "debug"]);
  expect(await loggedWith({ logger, logLevel: "warn" })).toEqual(["warn"]);
  expect(await loggedWith({ logger, logLevel: "off" })).toEqual([]);
  vi.spyOn(console, "warn").mockImplementation(logger.warn);
  vi.spyOn(console, "debug").mockImplementation(logger.debug);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await loggedWith({})).toEqual([]);
  expect(await loggedWith({ logLevel: "debug" })).toEqual(["warn", "debug"]);
});

test("address and key come from the environment, and each request says who asks", async () => {
  vi.stubEnv("REBID_BASE_URL", server.url);
  vi.stubEnv("REBID_API_KEY", "rb_live_ENVIRONMENT");
  onTestFinished(() => void vi.unstubAllEnvs());
  const headersOf = async (rebid: Rebid) => {
    server.play(wallet);
    await rebid.wallet.read();
    return server.requests[0]?.headers;
  };
  const headers = await headersOf(new Rebid());
  expect(headers?.authorization).toBe("Bearer rb_live_ENVIRONMENT");
  expect(headers?.["user-agent"]).toMatch(/^rebid-sdk\/\d+\.\d+\.\d+ node\/\d+/);
  expect((await headersOf(new Rebid({ apiKey: "rb_live_OWN" })))?.authorization).toBe("Bearer rb_live_OWN");
  expect((await headersOf(new Rebid({ headers: { "user-agent": "mine" } })))?.["user-agent"]).toBe("mine");
  for (const anonymous of [{ apiKey: null }, { credentials: "include" }] as const)
    expect((await headersOf(new Rebid(anonymous)))?.authorization).toBeUndefined();
  vi.stubEnv("REBID_BASE_URL", "");
  expect(() => new Rebid()).toThrow("set REBID_BASE_URL");
});

test("an operation that the client does not know is called with the same retries, key and errors", async () => {
  const { rebid } = client();
  server.play(refusal(503, "unavailable"), json(201, { promotion: { id: "p1" } }));
  const input = { id: "t 1", days: 2 };
  const answer = await rebid.request<{ promotion: { id: string } }>("POST", "/tasks/{id}/promotions", input);
  expect(answer.promotion.id).toBe("p1");
  const [first, second] = server.requests;
  expect([first?.url, first?.body]).toEqual(["/tasks/t%201/promotions", '{"days":2}']);
  expect(first?.headers["idempotency-key"]).toMatch(/./);
  expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);

  server.play(json(200, { promotions: [] }));
  await rebid.request("GET", "/promotions", { status: ["new", "old"], limit: 2 });
  expect(server.requests[0]?.url).toBe("/promotions?status=new%2Cold&limit=2");

  server.play(json(409, { error: "promoted_already", message: "The task is promoted.", requestId: "r1" }));
  const error = await failureOf(rebid.request("POST", "/tasks/{id}/promotions", input));
  expect(error).toMatchObject({ status: 409, code: "unexpected_response", body: { error: "promoted_already" } });
  expect(String(error)).toMatch(/The task is promoted\. \(promoted_already\)/);
  await expect(async () => rebid.request("GET", "@example.com/")).rejects.toThrow(/must begin with a slash/);
});

test("a failure is reported once, with or without the response", async () => {
  const { rebid } = client({ maxRetries: 0 });
  server.play(refusal(404, "not_found"));
  const unhandled: unknown[] = [];
  const listener = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", listener);
  try {
    await failureOf(rebid.tasks.read({ id: "t1" }).withResponse());
    await failureOf(rebid.tasks.read({ id: "t1" }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", listener);
  }
});
