import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sealData } from "iron-session";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { decryptSessionId, encryptSessionId, SESSION_LIFETIME_SECONDS } from "../../server/auth/sessions.ts";
import { readConfig } from "../../server/config.ts";
import { createApp } from "../../server/http/app.ts";
import { sql } from "../../server/store/connection.ts";
import { cookieOf, createPerson } from "../factories/people.ts";
import { type Credentials, rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const DAY_SECONDS = 24 * 3600;
let advanced = 0;

const advance = (seconds: number) => {
  service.clock.advance(seconds);
  advanced += seconds;
};
afterEach(() => advance(-advanced));

const me = (credentials: Credentials) => rest(service.url, "GET", "/auth/me", { credentials });

test("the cookie is for the browser only, for 14 days, for this site", async () => {
  const person = await createPerson(service);
  const answer = await rest(service.url, "POST", "/auth/login", {
    body: { email: person.email, password: person.password },
  });
  const [pair = "", ...attributes] = answer.headers.get("set-cookie")?.split("; ") ?? [];
  expect(pair).toMatch(/^rebid_session=[\w.%*~-]+$/);
  expect(attributes.filter((attribute) => !attribute.startsWith("Expires="))).toEqual(
    expect.arrayContaining(["HttpOnly", "Secure", "SameSite=Lax", "Path=/", `Max-Age=${14 * DAY_SECONDS}`]),
  );
  expect(attributes.some((attribute) => attribute.startsWith("Domain="))).toBe(false);
  expect(answer.text).not.toContain(pair.slice("rebid_session=".length));
});

test("each login has its own session, and does not end another", async () => {
  const person = await createPerson(service);
  const again = cookieOf(
    await rest(service.url, "POST", "/auth/login", { body: { email: person.email, password: person.password } }),
  );
  expect(again).not.toEqual(person.session);
  await person.post("/auth/logout");
  expectError(await me(person.session), "unauthenticated");
  expect((await me(again)).status).toBe(200);
});

test("logging out ends the session immediately for every copy of its cookie, and clears the browser's", async () => {
  const person = await createPerson(service);
  const [first, ...copies] = await Promise.all(Array.from({ length: 5 }, () => me(person.session)));
  expect([first, ...copies].map((answer) => answer?.status)).toEqual([200, 200, 200, 200, 200]);
  const answer = await rest(service.url, "POST", "/auth/logout", { credentials: person.session });
  expect([answer.status, answer.text]).toEqual([204, ""]);
  expect(answer.headers.get("set-cookie")).toMatch(/^rebid_session=;.*Expires=Thu, 01 Jan 1970/);
  expectError(await me(person.session), "unauthenticated");
  expectError(await rest(service.url, "POST", "/auth/logout", { credentials: person.session }), "unauthenticated");
  expect((await me(person.key)).status).toBe(200);
});

test("logging out with a key ends nothing", async () => {
  const person = await createPerson(service);
  expect((await rest(service.url, "POST", "/auth/logout", { credentials: person.key })).status).toBe(204);
  expect((await me(person.key)).status).toBe(200);
  expect((await me(person.session)).status).toBe(200);
});

test("a session in use is extended, and expires after 14 days without use", async () => {
  const person = await createPerson(service);
  expect((await me(person.session)).headers.get("set-cookie")).toBeNull();
  let session = person.session;
  for (let day = 10; day <= 40; day += 10) {
    advance(10 * DAY_SECONDS);
    const answer = await me(session);
    expect(answer.status).toBe(200);
    session = cookieOf(answer); // the browser's cookie is renewed as well
    expect(session.cookie).toMatch(/^rebid_session=./);
  }
  advance(14 * DAY_SECONDS - 60);
  const extended = await me(session);
  expect(extended.status).toBe(200);
  advance(14 * DAY_SECONDS + 60);
  expectError(await me(cookieOf(extended)), "unauthenticated");
  expectError(await me(session), "unauthenticated");
});

test("crafted cookies make an anonymous caller, and never an internal error", async () => {
  const person = await createPerson(service);
  const real = person.session.cookie ?? "";
  const seal = decodeURIComponent(real.slice("rebid_session=".length));
  const [secret = ""] = service.services.settings.sessionSecrets;
  const sealed = (data: object, password = secret) => sealData(data, { password });
  const crafted = [
    "",
    "x",
    "%",
    "%zz",
    "null",
    "{}",
    "Fe26.2",
    "Fe26.2**",
    "Fe26.2*1*a*b*c*d*e*f",
    "Fe26.2*1*a*b*c**e*f~2",
    "Fe26.2*1*a*b*c*99999999999999999999*e*f~2",
    "~2",
    "*".repeat(2_000),
    ...[60, 120, 180].map((at) => seal.slice(0, at) + (seal[at] === "A" ? "B" : "A") + seal.slice(at + 1)),
    seal.replace(/.{8}~2/, "~2"),
    seal.replace("Fe26.2", "Fe26.3"),
    seal.replace(/\*[^*]+/, "*2"),
    seal.toLowerCase(),
    await sealed({}),
    await sealed({ sessionId: null }),
    await sealed({ sessionId: 7 }),
    await sealed({ sessionId: "x" }),
    await sealed({ sessionId: "'; DROP TABLE sessions; --" }),
    await sealed({ sessionId: crypto.randomUUID() }),
    await sealed({ sessionId: person.id }),
    await sealed({ sessionId: crypto.randomUUID() }, "another secret, of 32 characters or more"),
  ];
  for (const value of crafted) {
    for (const cookie of [`rebid_session=${value}`, `rebid_session=${encodeURIComponent(value)}`]) {
      expectError(await me({ cookie }), "unauthenticated");
      expect((await rest(service.url, "GET", "/tasks", { credentials: { cookie } })).status).toBe(200);
    }
  }
  for (const cookie of [";;;", "=", "rebid_session", `REBID_SESSION=${seal}`, `x=${real}`]) {
    expectError(await me({ cookie }), "unauthenticated");
  }
  expect((await me({ cookie: `a=b; ${real}; c=d` })).status).toBe(200);
});

test("two session cookies are nobody, whatever their order and values, and the browser is told to delete them", async () => {
  const [victim, attacker] = [await createPerson(service), await createPerson(service)];
  const [own, other] = [victim.session.cookie ?? "", attacker.session.cookie ?? ""];
  for (const cookie of [
    `${own}; ${other}`,
    `${other}; ${own}`,
    `${own}; ${own}`,
    `rebid_session=; ${own}`,
    `${own}; a=b; rebid_session=%zz`,
  ]) {
    const topup = await rest(service.url, "POST", "/wallet/topup", { body: { amountCents: 500 }, headers: { cookie } });
    expectError(topup, "unauthenticated");
    expect(topup.headers.get("clear-site-data")).toBe('"cookies"');
    const feed = await rest(service.url, "GET", "/tasks", { headers: { cookie } });
    expect([feed.status, feed.headers.get("clear-site-data")]).toEqual([200, '"cookies"']);
    const callOverRpc = await fetch(`${service.url}/trpc/auth.me`, { headers: { cookie } });
    expect([callOverRpc.status, callOverRpc.headers.get("clear-site-data")]).toEqual([401, '"cookies"']);
  }
  const withKey = await me({ cookie: `${own}; ${other}`, ...victim.key });
  expect([withKey.body.user.id, withKey.headers.get("clear-site-data")]).toEqual([victim.id, null]);
  expect((await me(victim.session)).headers.get("clear-site-data")).toBeNull();
});

test("however often it is used, a session ends after 90 days", async () => {
  const person = await createPerson(service);
  let session = person.session;
  for (let day = 9; day < 90; day += 9) {
    advance(9 * DAY_SECONDS);
    const answer = await me(session);
    expect(answer.status).toBe(200);
    const renewed = cookieOf(answer);
    if (renewed.cookie !== "") session = renewed;
  }
  advance(9 * DAY_SECONDS - 60);
  expect((await me(session)).status).toBe(200);
  advance(120);
  expectError(await me(session), "unauthenticated");
});

describe("behind https", () => {
  let url = "";
  const server = createServer();
  beforeAll(async () => {
    const settings = { ...service.services.settings, publicUrl: "https://rebid.example.com" };
    server.on("request", createApp({ ...service.services, settings }, { trustProxy: false }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  test("the cookie has the prefix that keeps other hosts from setting it, and no other cookie counts", async () => {
    const { email, password, session } = await createPerson(service);
    const answer = await rest(url, "POST", "/auth/login", { body: { email, password } });
    const [cookie = "", ...attributes] = (answer.headers.get("set-cookie") ?? "").split("; ");
    expect(cookie).toMatch(/^__Host-rebid_session=./);
    expect(attributes).toEqual(expect.arrayContaining(["Path=/", "Secure", "HttpOnly", "SameSite=Lax"]));
    expect(attributes.filter((attribute) => attribute.startsWith("Domain"))).toEqual([]);
    const read = (header: string) => rest(url, "GET", "/auth/me", { headers: { cookie: header } });
    expect((await read(cookie)).status).toBe(200);
    expect((await read(`${cookie}; ${session.cookie}`)).status).toBe(200);
    expectError(await read(session.cookie ?? ""), "unauthenticated");
    expectError(await read(cookie.replace("__Host-", "")), "unauthenticated");
    const out = await rest(url, "POST", "/auth/logout", { headers: { cookie } });
    expect(out.headers.get("set-cookie")).toMatch(/^__Host-rebid_session=;.*Secure/);
    const document = (await rest(url, "GET", "/openapi.json")).body;
    expect(document.components.securitySchemes.session.name).toBe("__Host-rebid_session");
  });
});

test("two rotations of the secret log nobody out, and a secret that was taken away does", async () => {
  const [first, second, third] = ["1", "2", "3"].map((digit) => digit.repeat(32)) as [string, string, string];
  const id = crypto.randomUUID();
  const [oldest, middle] = [await encryptSessionId(id, [first]), await encryptSessionId(id, [second, first])];
  expect(await decryptSessionId(oldest, [second, first])).toBe(id);
  for (const seal of [oldest, middle]) expect(await decryptSessionId(seal, [third, second, first])).toBe(id);
  expect(await decryptSessionId(middle, [third, second])).toBe(id);
  expect(await decryptSessionId(oldest, [third, second])).toBeNull();
  expect(readConfig({ SESSION_SECRET: `${third}, ${second}` }).sessionSecrets).toEqual([third, second]);
});

test("sessions are listed with their use, and one can be ended", async () => {
  const [person, other] = [await createPerson(service), await createPerson(service)];
  const { email, password } = person;
  const headers = { "user-agent": "A browser. ".repeat(30) };
  const logIn = async () =>
    cookieOf(await rest(service.url, "POST", "/auth/login", { body: { email, password }, headers }));
  advance(3_600);
  const [second, third] = [await logIn(), await logIn()];
  advance(3_600);
  expect((await me(second)).headers.get("set-cookie")).toBeNull();
  const { sessions } = (await rest(service.url, "GET", "/auth/sessions", { credentials: second })).body;
  expect(sessions.map(({ current }: { current: boolean }) => current)).toEqual([true, false, false]);
  const time = expect.stringMatching(/\.\d{6}Z$/);
  for (const session of sessions) {
    expect(session).toEqual({
      id: expect.any(String),
      createdAt: time,
      lastSeenAt: time,
      // Where it began, so that a person recognises their own. The first of them began without a request.
      address: session === sessions[2] ? null : "127.0.0.1",
      userAgent: session === sessions[2] ? null : "A browser. ".repeat(30).slice(0, 300),
      current: expect.any(Boolean),
    });
  }
  const seen = sessions.map(({ lastSeenAt }: { lastSeenAt: string }) => Date.parse(lastSeenAt));
  expect(seen[0] - seen[1]).toBeGreaterThan(3_590_000);

  expectError(await other.delete(`/auth/sessions/${sessions[1].id}`), "not_found");
  expectError(await rest(service.url, "GET", "/auth/sessions", { credentials: person.key }), "forbidden");
  const ended = await rest(service.url, "DELETE", `/auth/sessions/${sessions[1].id}`, { credentials: second });
  expect([ended.status, ended.text, ended.headers.get("set-cookie")]).toEqual([204, "", null]);
  expectError(await me(third), "unauthenticated");
  expect((await me(person.session)).status).toBe(200);
  const own = await rest(service.url, "DELETE", `/auth/sessions/${sessions[0].id}`, { credentials: second });
  expect(own.headers.get("set-cookie")).toMatch(/^rebid_session=;/);
  expectError(await me(second), "unauthenticated");
});

test("a bearer token takes precedence over the cookie", async () => {
  const [ada, bob] = [await createPerson(service), await createPerson(service)];
  const both = await me({ ...ada.session, ...bob.key });
  expect(both.body).toMatchObject({ user: { id: bob.id }, auth: { kind: "apiKey" } });
  expectError(await me({ ...ada.session, authorization: "Bearer nonsense" }), "unauthenticated");
  expectError(await me({ ...ada.session, authorization: "" }), "unauthenticated");
});

test("/auth/me says how the caller is authenticated, and a session has every scope", async () => {
  const person = await createPerson(service);
  const { id, email, displayName } = person;
  const createdAt = expect.stringMatching(/\.\d{6}Z$/);
  const user = { id, email, displayName, createdAt, emailVerifiedAt: null, timeZone: null };
  const auth = { kind: "session", scopes: ["*"], moderator: false };
  expect((await me(person.session)).body).toEqual({
    user,
    auth,
    role: "member",
    hasSecondFactor: false,
    unreadCount: 0,
  });
  expect((await me(person.key)).body.auth.scopes).not.toContain("*");
});

async function countSessions(userId: string): Promise<number> {
  const rows = await service.services.database.query(sql`SELECT 1 FROM sessions WHERE user_id = ${userId}::uuid`);
  return rows.length;
}

test("a login deletes the user's expired sessions, and no others", async () => {
  const { id, email, password } = await createPerson(service);
  const logIn = () => rest(service.url, "POST", "/auth/login", { body: { email, password } });
  expect((await logIn()).status).toBe(200);
  expect(await countSessions(id)).toBe(2);
  advance(SESSION_LIFETIME_SECONDS + 1);
  expect((await logIn()).status).toBe(200);
  expect(await countSessions(id)).toBe(1);
});

test("a sign-up that cannot start a session leaves no account behind, so that it can be repeated", async () => {
  const signUp = () =>
    rest(service.url, "POST", "/auth/signup", {
      body: { email: "half@example.com", password: "a long password", displayName: "Half" },
    });
  await service.owner.query(
    sql`ALTER TABLE sessions ADD CONSTRAINT no_new_ones CHECK (expires_at < '2000-01-01') NOT VALID`,
  );
  expect((await signUp()).status).toBe(500);
  await service.owner.query(sql`ALTER TABLE sessions DROP CONSTRAINT no_new_ones`);
  const [logged] = service.errors.splice(0);
  expect(logged).toContain("no_new_ones");

  expect((await signUp()).status).toBe(201);
});
