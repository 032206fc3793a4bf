import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { clientAddress } from "../../server/limits/address.ts";
import { pruneRateLimits } from "../../server/limits/limiter.ts";
import { queryOne, sql } from "../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { codeOf, setUpTotp, signIn } from "../factories/secondFactors.ts";
import { placeBid, postTask } from "../factories/tasks.ts";
import { type Answer, rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { callOverRest, routeOf, transports } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";
import { from, type Instance, useInstances } from "./instances.ts";

const service = useService();
const start = useInstances(service);
let one: Instance;
let two: Instance;
let person: TestPerson;
let lastAddress = 0;

/** An address that no other test uses. */
const newAddress = () => from(`192.0.2.${++lastAddress}`);

beforeAll(async () => {
  const limits = { writes: 10, reads: 100 };
  one = await start({ limits });
  two = await start({ limits });
  person = await createPerson(service);
});
afterEach(() => {
  vi.useRealTimers();
});

const login = { email: "nobody@example.com", password: "not the password" };
const unknownId = "01990000-0000-7000-8000-000000000000";

/** A typed RPC batch that makes the same call several times. */
async function batch(url: string, path: string, inputs: object[], headers: Record<string, string>): Promise<Answer> {
  const method = path.startsWith("tasks.") || path === "auth.me" ? "GET" : "POST";
  const text = JSON.stringify({ ...inputs });
  const query = method === "GET" ? `&input=${encodeURIComponent(text)}` : "";
  const response = await fetch(`${url}/trpc/${inputs.map(() => path).join(",")}?batch=1${query}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(method === "POST" && { body: text }),
  });
  const body: Answer["body"] = await response.json();
  return { status: response.status, headers: response.headers, body, text: "" };
}

/** How often each value occurs. */
function tally(values: readonly (string | number)[]): Record<string, number> {
  return Object.fromEntries(
    [...new Set(values)].map((value) => [value, values.filter((each) => each === value).length]),
  );
}

const errorsOf = ({ body }: Answer): string[] =>
  body.map((call: Answer["body"]) => call.error?.data.error ?? call.result.type ?? "ok");

test("guesses at a second factor from many addresses, through every door that takes a code, are bounded together", async () => {
  const owner = await createPerson(service);
  const { secret } = await setUpTotp(service, owner);
  const right = [-1, 0, 1].map((step) => codeOf(service, secret, step));
  const codes = Array.from({ length: 20 }, (_, index) => String(100_000 + index)).filter(
    (code) => !right.includes(code),
  );
  const { email, password } = owner;
  const guess = (url: string, code: string) => {
    const by = () => ({ ...owner.session, ...newAddress() });
    return [
      rest(url, "POST", "/auth/login", { body: { email, password, code }, headers: by() }),
      rest(url, "DELETE", "/auth/totp", { body: { password, code }, headers: by() }),
      rest(url, "DELETE", "/auth/me", { body: { password, code }, headers: by() }),
    ];
  };
  const answers = await Promise.all(codes.flatMap((code, index) => guess(index % 2 === 0 ? one.url : two.url, code)));
  const checked = answers.filter(({ body }) => body.error === "second_factor_required");
  expect(checked).toHaveLength(5);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(answers.length - 5);
  // Not even the right code is tried before the pause is over.
  const { answer } = await signIn(service, owner, right[1]);
  expectError(answer, "rate_limited");
});

describe("200 parallel calls to two processes let exactly 10 through", () => {
  const urls = () => Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? one.url : two.url));

  test.each(transports)("login over $transport", async ({ call }) => {
    const headers = newAddress();
    const answers = await Promise.all(urls().map((url) => call(url, routeOf("auth.login"), login, headers)));
    expect(tally(answers.map(({ status }) => status))).toEqual({ 401: 10, 429: 190 });
  });

  test("login in batches, of which each hashes one password", async () => {
    const headers = newAddress();
    const inputs = Array.from({ length: 10 }, () => login);
    const answers = await Promise.all(
      urls()
        .slice(0, 20)
        .map((url) => batch(url, "auth.login", inputs, headers)),
    );
    const { rate_limited: refused, ...counted } = tally(answers.flatMap(errorsOf));
    expect(refused).toBe(190);
    expect(counted.invalid_credentials).toBeGreaterThan(0);
  });

  test("signup", async () => {
    const headers = newAddress();
    const input = { email: "ada@example.com", password: "short", displayName: "Ada" };
    const answers = await Promise.all(urls().map((url) => callOverRest(url, routeOf("auth.signup"), input, headers)));
    expect(tally(answers.map(({ status }) => status))).toEqual({ 400: 10, 429: 190 });
  });

  test.each(transports)("a user's keys and payouts over $transport", async ({ call }) => {
    const { session } = await createPerson(service);
    const answers = await Promise.all(
      urls().map((url, index) => {
        if (index % 4 < 2) return call(url, routeOf("keys.revoke"), { id: unknownId }, session);
        return call(url, routeOf("payouts.create"), { amountCents: 1_000 }, session);
      }),
    );
    const { 429: refused, ...served } = tally(answers.map(({ status }) => status));
    expect(refused).toBe(190);
    expect(Object.keys(served).filter((status) => !["404", "412"].includes(status))).toEqual([]);
  });
});

test("a user writes 60 messages a minute, exactly, whatever processes, keys and conversations they go through", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 20_000 }), await createPerson(service)];
  const bids = [await placeBid(bidder, (await postTask(buyer)).id), await placeBid(bidder, (await postTask(buyer)).id)];
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      callOverRest(
        index % 2 === 0 ? one.url : two.url,
        routeOf("messages.send"),
        { id: bids[index % 3 === 0 ? 0 : 1].id, text: `Message ${index}` },
        index % 4 < 2 ? bidder.session : bidder.key,
      ),
    ),
  );
  expect(tally(answers.map(({ status }) => status))).toEqual({ 201: 60, 429: 40 });
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers.get("ratelimit-policy")).toBe('"messages";q=60;w=60');
  // What was refused was not written, and the other side still can write.
  const [row] = await service.services.database.query(sql`
    SELECT count(*)::int AS count FROM messages WHERE sender_id = ${bidder.id}::uuid`);
  expect(row).toEqual({ count: 60 });
  const answer = await callOverRest(two.url, routeOf("messages.send"), { id: bids[0].id, text: "Yes?" }, buyer.session);
  expect(answer.status).toBe(201);
});

test("reads are leased: never above the limit in all, few are lost, and most cost no query", async () => {
  const { session } = await createPerson(service);
  const queries = [one, two].map(({ database }) => vi.spyOn(database.pool, "query"));
  const answers = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const statuses: number[] = [];
      const { url } = index % 2 === 0 ? one : two;
      for (let n = 0; n < 5; n++) statuses.push((await rest(url, "GET", "/wallet", { credentials: session })).status);
      return statuses;
    }),
  );
  const counting = queries
    .flatMap(({ mock }) => mock.calls)
    .filter(([query]) => JSON.stringify(query).includes("rate_limits"));
  for (const query of queries) query.mockRestore();
  const allowed = tally(answers.flat())[200] ?? 0;
  expect(allowed).toBeLessThanOrEqual(100);
  expect(allowed).toBeGreaterThanOrEqual(90);
  expect(counting.length).toBeLessThan(60);
});

describe.each(transports)("over $transport", ({ call }) => {
  test("every limited response says which limit counts and what is left", async () => {
    const headers = newAddress();
    const first = await call(one.url, routeOf("tasks.list"), {}, headers);
    expect(first.status).toBe(200);
    expect(first.headers.get("ratelimit-policy")).toBe('"anonymous";q=300;w=60');
    expect(first.headers.get("ratelimit")).toBe('"anonymous";r=299;t=60');
    const missing = await call(one.url, routeOf("tasks.read"), { id: unknownId }, headers);
    expect(missing.status).toBe(404);
    expect(missing.headers.get("ratelimit-policy")).toBe('"anonymous-public-reads";q=60;w=60');
    expect(missing.headers.get("ratelimit")).toBe('"anonymous-public-reads";r=59;t=60');
    const refused = await call(one.url, routeOf("tasks.cancel"), { id: unknownId }, headers);
    expect(refused.status).toBe(401);
    expect(refused.headers.get("ratelimit")).toBe('"anonymous-task-writes";r=29;t=60');
    const own = await call(one.url, routeOf("wallet.read"), {}, { ...headers, ...person.key });
    expect(own.headers.get("ratelimit-policy")).toBe('"reads";q=100;w=60');
    const write = await call(one.url, routeOf("tasks.cancel"), { id: unknownId }, { ...headers, ...person.key });
    expect(write.headers.get("ratelimit")).toMatch(/^"task-writes";r=29\d;t=\d+$/);
  });

  test("the same request succeeds after exactly the seconds of Retry-After", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const headers = newAddress();
    const attempt = (url: string) => call(url, routeOf("auth.login"), login, headers);
    for (let n = 0; n < 10; n++) {
      expect((await attempt(one.url)).status).toBe(401);
      vi.setSystemTime(Date.now() + 1_234);
    }
    const refused = await attempt(two.url);
    expect(refused.status).toBe(429);
    expect(refused.body.error).toBe("rate_limited");
    // 60 s less the 12.34 s that have passed.
    expect(refused.headers.get("retry-after")).toBe("48");
    expect(refused.headers.get("ratelimit")).toBe('"login";r=0;t=48');
    vi.setSystemTime(Date.now() + 47_000);
    for (const { url } of [one, two]) expect((await attempt(url)).headers.get("retry-after")).toBe("1");
    vi.setSystemTime(Date.now() + 1_000);
    for (const { url } of [one, two]) expect((await attempt(url)).status).toBe(401);
  });
});

test("each call of a batch counts, and the headers are those of the limit closest to being reached", async () => {
  const headers = newAddress();
  const input = encodeURIComponent(JSON.stringify({ 0: { id: unknownId }, 1: {} }));
  const mixed = await rest(one.url, "GET", `/trpc/tasks.read,tasks.list?batch=1&input=${input}`, { headers });
  expect(mixed.headers.get("ratelimit")).toBe('"anonymous-public-reads";r=59;t=60');
  const reads = Array.from({ length: 20 }, () => ({ id: unknownId }));
  const answers = [];
  for (let n = 0; n < 3; n++) answers.push(await batch(one.url, "tasks.read", reads, headers));
  expect(tally(answers.flatMap(errorsOf))).toEqual({ not_found: 59, rate_limited: 1 });
  expect(answers[2]?.headers.get("ratelimit")).toBe('"anonymous-public-reads";r=0;t=60');
});

test("one call of a batch may hash a password; the others are refused before they do", async () => {
  const person = (name: string) => ({ email: `${name}@example.com`, password: "correct horse", displayName: name });
  const headers = newAddress();
  const answer = await batch(one.url, "auth.signup", ["batch1", "batch2", "batch3"].map(person), headers);
  expect(errorsOf(answer)).toEqual(["ok", "invalid_input", "invalid_input"]);
  expect(answer.body[1].error.data.issues[0].message).toContain("password");
  const { count } = await queryOne<{ count: number }>(
    service.services.database,
    sql`SELECT count(*)::int AS count FROM users WHERE email LIKE 'batch%'`,
  );
  expect(count).toBe(1);
  const next = await rest(one.url, "POST", "/auth/signup", { body: person("batch4"), headers });
  expect(next.headers.get("ratelimit")).toMatch(/^"signup";r=6;/);
});

describe("who is counted", () => {
  const remaining = ({ headers }: Answer) => Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
  const read = async (url: string, headers: Record<string, string>) =>
    remaining(await rest(url, "GET", "/tasks", { headers }));

  test("valid credentials count against the user from any address, others against the address", async () => {
    const { session, key } = await createPerson(service);
    const [here, there] = [newAddress(), newAddress()];
    expect(await read(one.url, { ...here, ...session })).toBe(99);
    expect(await read(one.url, { ...there, ...key })).toBe(98);
    expect(await read(one.url, { ...here, authorization: `Bearer rb_live_${"A".repeat(22)}` })).toBe(299);
    expect(await read(one.url, { ...here, cookie: "rebid_session=forged" })).toBe(298);
    expect(await read(one.url, there)).toBe(299);
  });

  test("valid credentials buy no further logins", async () => {
    const headers = newAddress();
    const attempt = (credentials: object) =>
      rest(one.url, "POST", "/auth/login", { body: login, headers: { ...headers, ...credentials } });
    expect(remaining(await attempt({}))).toBe(9);
    expect(remaining(await attempt(person.key))).toBe(8);
  });

  test("an IPv6 address counts as its /64, an IPv4 address in IPv6 form as IPv4", async () => {
    expect(await read(one.url, from("2001:db8:1:2::1"))).toBe(299);
    expect(await read(one.url, from("2001:db8:1:2:ffff:ffff:ffff:ffff"))).toBe(298);
    expect(await read(one.url, from("2001:db8:1:3::1"))).toBe(299);
    expect(await read(one.url, from("198.51.100.7"))).toBe(299);
    expect(await read(one.url, from("::ffff:198.51.100.7"))).toBe(298);
    expect(clientAddress("2001:DB8:0:0:1::1%eth0")).toBe("2001:db8:0:0::/64");
    expect(clientAddress("not an address", "203.0.113.9")).toBe("203.0.113.9");
    expect(clientAddress(undefined, undefined)).toBe("unknown");
  });

  test("without TRUST_PROXY, X-Forwarded-For changes nothing; with it, only what the proxy appended counts", async () => {
    const direct = await start({ trustProxy: false });
    const before = await read(direct.url, {});
    expect(await read(direct.url, from("203.0.113.1"))).toBe(before - 1);
    expect(await read(direct.url, { ...from("203.0.113.2"), forwarded: "for=203.0.113.3" })).toBe(before - 2);
    expect(await read(one.url, from("203.0.113.4, 203.0.113.200"))).toBe(299);
    expect(await read(one.url, from("203.0.113.5, 203.0.113.200"))).toBe(298);
    const list = await start({ trustProxy: "loopback, 10.0.0.0/8" });
    expect(await read(list.url, from("203.0.113.6, 203.0.113.201, 10.0.0.1"))).toBe(299);
    expect(await read(list.url, from("203.0.113.7, 203.0.113.201, 10.0.0.2"))).toBe(298);
  });
});

describe("a request that reaches no procedure counts as well:", () => {
  const json = { "content-type": "application/json" };
  const calls: [what: string, path: string, request: RequestInit, status: number][] = [
    ["an unknown path", "/nothing", {}, 404],
    ["a wrong method", "/tasks", { method: "DELETE" }, 405],
    ["a body that is not JSON", "/tasks", { method: "POST", headers: json, body: "{" }, 400],
    ["another media type", "/tasks", { method: "POST", headers: { "content-type": "text/plain" }, body: "x" }, 415],
    ["a body that is too large", "/tasks", { method: "POST", headers: json, body: "x".repeat(300_000) }, 413],
    [
      "another site's page",
      "/tasks",
      { method: "POST", headers: { cookie: "rebid_session=x", origin: "http://x.example" } },
      403,
    ],
    ["an unknown procedure", "/trpc/tasks.nothing", {}, 404],
    ["a wrong method over RPC", "/trpc/tasks.create", {}, 405],
    [
      "another media type over RPC",
      "/trpc/tasks.create",
      { method: "POST", headers: { "content-type": "text/plain" }, body: "x" },
      415,
    ],
    ["a batch of queries and mutations", "/trpc/tasks.list,tasks.create?batch=1", {}, 400],
    ["broken connection parameters", "/trpc/tasks.list?connectionParams=x", {}, 400],
    [
      "a message of the Model Context Protocol without a key",
      "/mcp",
      { method: "POST", headers: json, body: "{}" },
      401,
    ],
    ["a wrong method of the Model Context Protocol", "/mcp", {}, 405],
    ["a batch that is too large", `/trpc/${Array(21).fill("tasks.list").join(",")}?batch=1`, {}, 400],
  ];

  let few: Instance;
  beforeAll(async () => {
    few = await start({ limits: { anonymous: 2 } });
  });

  test.each(calls)("%s", async (_what, path, { headers, ...request }, status) => {
    const address = newAddress();
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) {
      const response = await fetch(few.url + path, { ...request, headers: { ...headers, ...address } });
      await response.text();
      statuses.push(response.status);
    }
    expect(statuses).toEqual([status, status, 429]);
    expectError(await rest(few.url, "GET", "/tasks", { headers: address }), "rate_limited");
  });

  test("but pages, probes and the document do not", async () => {
    const few = await start({ limits: { anonymous: 0 } });
    for (const path of ["/", "/livez", "/readyz", "/openapi.json", "/metrics"]) {
      expect([path, (await fetch(few.url + path)).status]).toEqual([path, 200]);
    }
    expectError(await rest(few.url, "GET", "/tasks"), "rate_limited");
  });
});

test("while the store fails, the service goes on serving, and each process guards logins by itself", async () => {
  const failing = await start();
  const query = vi.spyOn(failing.database.pool, "query");
  const { query: real } = service.services.database.pool;
  query.mockImplementation(((statement: { text: string }, ...rest: unknown[]) =>
    statement.text.includes("rate_limits")
      ? Promise.reject(new Error("relation rate_limits does not exist"))
      : Reflect.apply(real, service.services.database.pool, [statement, ...rest])) as typeof real);
  const headers = newAddress();
  expect((await rest(failing.url, "GET", "/tasks", { headers })).status).toBe(200);
  const attempts = Array.from({ length: 30 }, () => callOverRest(failing.url, routeOf("auth.login"), login, headers));
  expect(tally((await Promise.all(attempts)).map(({ status }) => status))).toEqual({ 401: 10, 429: 20 });
  query.mockRestore();
  expect((await rest(failing.url, "GET", "/wallet", { credentials: person.key })).status).toBe(200);
});

test("without limits there are no headers, and nothing is refused", async () => {
  const answers = await Promise.all(Array.from({ length: 61 }, () => rest(service.url, "GET", `/tasks/${unknownId}`)));
  expect(tally(answers.map(({ status }) => status))).toEqual({ 404: 61 });
  expect(answers[0]?.headers.has("ratelimit")).toBe(false);
});

test("/metrics counts what was refused, by limit", async () => {
  const instance = await start({ limits: { anonymous: 1 } });
  const headers = newAddress();
  for (let n = 0; n < 3; n++) await rest(instance.url, "GET", "/tasks", { headers });
  const text = await (await fetch(`${instance.url}/metrics`)).text();
  expect(text).toContain('rebid_rate_limited_total{limit="anonymous"} 2\n');
});

test("counters whose window has ended are deleted, the others are kept", async () => {
  const { database } = service.services;
  await database.query(sql`
    INSERT INTO rate_limits VALUES ('login:old', 10, ${Date.now() - 1_000}), ('login:new', 10, ${Date.now() + 60_000})`);
  await pruneRateLimits(service.services);
  const rows = await database.query(sql`SELECT key FROM rate_limits WHERE key IN ('login:old', 'login:new')`);
  expect(rows).toEqual([{ key: "login:new" }]);
  const [table] = await database.query(sql`SELECT relpersistence AS kind FROM pg_class WHERE relname = 'rate_limits'`);
  expect(table).toEqual({ kind: "u" });
});
