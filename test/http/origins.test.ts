import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { commonHeaders } from "../../server/http/commonHeaders.ts";
import { refuseBroken } from "../../server/http/refuseBroken.ts";
import type { Settings } from "../../server/services.ts";
import { version } from "../../server/version.ts";
import { builtDocs } from "../docs/blocks.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { hasBrowser, sharedBrowser } from "../setup/browser.ts";
import { rest } from "../setup/client.ts";
import { openStream } from "../setup/eventStream.ts";
import { rawRequest } from "../setup/rawRequest.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const stops: (() => void)[] = [];
let person: TestPerson;

beforeAll(async () => {
  person = await createPerson(service, { cents: 5_000 });
});
afterAll(() => {
  for (const stop of stops) stop();
});

/** The same service with other settings, at an address of its own. */
async function startWith(settings: Partial<Settings>): Promise<string> {
  const services = { ...service.services, settings: { ...service.services.settings, ...settings } };
  const server = createServer(createApp(services, { trustProxy: false }));
  refuseBroken(server, { farewellMs: 1_000, maxPipelined: 50, headers: commonHeaders(services.settings.publicUrl) });
  return listen(server);
}

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("security headers", () => {
  const common = {
    "rebid-version": version,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": expect.stringMatching(/^default-src 'none'.*; frame-ancestors 'none'$/),
  };

  test("are on every response: JSON, errors, pages, files, and the refusal of what is not HTTP", async () => {
    await builtDocs();
    const secure = await startWith({ publicUrl: "https://rebid.example" });
    const answers = [
      await rest(secure, "GET", "/tasks"),
      await rest(secure, "GET", "/wallet"),
      await rest(secure, "GET", "/no/such/path"),
      await rest(secure, "POST", "/tasks", { body: {}, headers: { "content-type": "text/plain" } }),
      await rest(secure, "GET", "/trpc/tasks.list?input=x"),
      await rest(secure, "GET", "/openapi.json"),
      await rest(secure, "GET", "/livez"),
      await rest(secure, "GET", "/"),
      await rest(secure, "GET", "/llms.txt"),
      await rest(secure, "OPTIONS", "/tasks"),
      ...(await rawRequest(secure, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")),
      ...(await rawRequest(secure, "this is not HTTP\r\n\r\n")),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 415, 400, 200, 200, 200, 200, 405, 400, 400]);
    for (const { headers } of answers) {
      expect(Object.fromEntries(headers)).toMatchObject({
        ...common,
        "strict-transport-security": "max-age=63072000; includeSubDomains",
      });
    }
  });

  test("without https, browsers are not told to insist on it", async () => {
    const { headers } = await rest(service.url, "GET", "/tasks");
    expect(Object.fromEntries(headers)).toMatchObject(common);
    expect(headers.has("strict-transport-security")).toBe(false);
  });
});

describe("CORS_ORIGINS", () => {
  const page = { origin: "https://tools.example" };
  let url: string;
  beforeAll(async () => {
    url = await startWith({ corsOrigins: ["https://tools.example"] });
  });

  test.each(["/wallet", "/trpc/wallet.read", "/trpc/wallet.read?batch=1&input=%7B%7D"])(
    "let a page use a key and read the answer of GET %s and its headers",
    async (path) => {
      const answer = await rest(url, "GET", path, { credentials: person.key, headers: page });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("access-control-allow-origin")).toBe("https://tools.example");
      expect(answer.headers.get("vary")).toContain("Origin");
      expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
      for (const name of ["RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id", "Idempotent-Replayed"])
        expect(answer.headers.get("access-control-expose-headers")?.split(", ")).toContain(name);
    },
  );

  test("answer the preflight, over REST and RPC, and let a page read errors too", async () => {
    for (const path of ["/tasks", "/trpc/tasks.create", "/bids/x"]) {
      const asked = { ...page, "access-control-request-method": "POST" };
      const { status, headers } = await rest(url, "OPTIONS", path, { headers: asked });
      expect(status).toBe(204);
      for (const method of ["GET", "POST", "PATCH", "DELETE"])
        expect(headers.get("access-control-allow-methods")).toContain(method);
      for (const name of ["Authorization", "Content-Type", "Idempotency-Key", "Dry-Run", "X-Request-Id"])
        expect(headers.get("access-control-allow-headers")?.split(", ")).toContain(name);
    }
    const refused = await rest(url, "GET", "/nothing", { headers: page });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([404, page.origin]);
  });

  test("never let the cookie authenticate", async () => {
    const read = await rest(url, "GET", "/wallet", { credentials: person.session, headers: page });
    expect(read.status).toBe(401);
    const change = await rest(url, "POST", "/keys", { body: {}, credentials: person.session, headers: page });
    expect([change.status, change.body.error]).toEqual([403, "forbidden"]);
    const any = await startWith({ corsOrigins: ["*"] });
    const headers = { origin: "https://anyone.example" };
    const answer = await rest(any, "GET", "/wallet", { credentials: person.session, headers });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([401, "*"]);
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    // The service's own pages are not affected.
    expect((await rest(any, "GET", "/wallet", { credentials: person.session, headers: { origin: any } })).status).toBe(
      200,
    );
  });

  test("an origin that is not listed gets no header, and a preflight is like any other OPTIONS", async () => {
    for (const origin of [
      "https://tools.example.evil.example",
      "http://tools.example",
      "https://tools.example:444",
      "null",
    ]) {
      const headers = { origin, "access-control-request-method": "POST" };
      const answer = await rest(url, "OPTIONS", "/tasks", { headers });
      expect(answer.status).toBe(405);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  });
});

describe("APP_ORIGINS", () => {
  test("ride on the cookie, over REST and RPC; others do not", async () => {
    const url = await startWith({ appOrigins: ["https://app.example"] });
    const credentials = { ...person.session, origin: "https://app.example" };
    const read = await rest(url, "GET", "/wallet", { credentials });
    expect(read.status).toBe(200);
    expect(read.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(read.headers.get("access-control-allow-credentials")).toBe("true");
    const body = { label: "mine", scopes: [] };
    expect((await rest(url, "POST", "/keys", { body, credentials })).status).toBe(201);
    expect((await rest(url, "POST", "/trpc/keys.create", { body, credentials })).status).toBe(200);
    const other = { ...person.session, origin: "https://app.example.evil.example" };
    expect((await rest(url, "POST", "/keys", { body, credentials: other })).status).toBe(403);
  });

  test("follow the event log with the cookie; to pages of other origins, it is no credential or the browser hides the stream", async () => {
    const url = await startWith({ appOrigins: ["https://app.example"], corsOrigins: ["https://tools.example"] });
    const stream = await openStream(url, "/events/stream", { ...person.session, origin: "https://app.example" });
    expect([stream.status, stream.headers.get("access-control-allow-origin")]).toEqual([200, "https://app.example"]);
    expect(stream.headers.get("access-control-allow-credentials")).toBe("true");
    // Beside the events of what this person does.
    let message = await stream.next();
    while (message?.comment === undefined) message = await stream.next();
    expect(message).toMatchObject({ comment: "still here" });
    stream.close();
    const keysOnly = { ...person.session, origin: "https://tools.example" };
    expect((await openStream(url, "/events/stream", keysOnly)).status).toBe(401);
    const foreign = await openStream(url, "/events/stream", { ...person.session, origin: "https://other.example" });
    expect([...foreign.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    foreign.close();
  });

  test("in development, any port of localhost is one; elsewhere only what is listed", async () => {
    const development = await startWith({ trustLocalhost: true });
    for (const origin of ["http://localhost:5173", "http://127.0.0.1:8080", "http://localhost", "http://[::1]:1"]) {
      const { headers } = await rest(development, "GET", "/tasks", { headers: { origin } });
      expect(headers.get("access-control-allow-credentials")).toBe("true");
      const elsewhere = await rest(service.url, "GET", "/tasks", { headers: { origin } });
      expect(elsewhere.headers.has("access-control-allow-origin")).toBe(false);
    }
    for (const origin of [
      "http://localhost.evil.example",
      "http://localhost:80.evil.example",
      "https://localhost:1x",
    ]) {
      const { headers } = await rest(development, "GET", "/tasks", { headers: { origin } });
      expect(headers.has("access-control-allow-origin")).toBe(false);
    }
  });
});

describe.skipIf(!hasBrowser)("in a real browser", () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let app: string;
  let stranger: string;
  let url: string;

  beforeAll(async () => {
    const blank = () => createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<p>A page"));
    [app, stranger] = [await listen(blank()), await listen(blank())];
    url = await startWith({ appOrigins: [app] });
    browser = await sharedBrowser();
  });
  afterEach(() => context.close());
  beforeEach(async () => {
    context = await browser.newContext();
    const [name = "", value = ""] = (person.session.cookie ?? "").split("=", 2);
    await context.addCookies([{ name, value, domain: "127.0.0.1", path: "/", sameSite: "Lax", secure: true }]);
    page = await context.newPage();
  });

  /** What a script on the open page gets from the service: the status and body, or the error's name. */
  const callFromPage = (path: string, body?: object) =>
    page.evaluate(
      async ({ target, json }) => {
        const options = { method: "POST", headers: { "content-type": "application/json" }, body: json };
        try {
          const response = await fetch(target, { credentials: "include", ...(json !== undefined && options) });
          return { status: response.status, body: await response.json(), id: response.headers.get("x-request-id") };
        } catch (error) {
          return error instanceof Error ? error.name : String(error);
        }
      },
      { target: url + path, json: body && JSON.stringify(body) },
    );

  test("a page of an app on another port reads and changes with the cookie", async () => {
    await page.goto(app);
    const wallet = await callFromPage("/wallet");
    expect(wallet).toMatchObject({ status: 200, body: { availableCents: 5_000 }, id: expect.any(String) });
    const created = await callFromPage("/trpc/keys.create", { label: "from the app", scopes: [] });
    expect(created).toMatchObject({ status: 200, body: { result: { data: { label: "from the app" } } } });
  });

  test("a page of another origin does neither", async () => {
    await page.goto(stranger);
    expect(await callFromPage("/wallet")).toBe("TypeError");
    expect(await callFromPage("/keys", { label: "from a stranger", scopes: [] })).toBe("TypeError");
    const { body } = await person.get("/wallet");
    expect(body.availableCents).toBe(5_000);
    const keys = await rest(url, "GET", "/keys", { credentials: person.session });
    expect(keys.body.keys.map(({ label }: { label: string }) => label)).not.toContain("from a stranger");
  });
});
