import { beforeAll, describe, expect, test } from "vitest";
import type { Route } from "../../server/http/routes.ts";
import { scopes } from "../../server/schemas/scope.ts";
import { sql } from "../../server/store/connection.ts";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { type Credentials, rest } from "../setup/client.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { routes, transports } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
let person: TestPerson;
let noScopes: Credentials;
let revoked: Credentials;
let loggedOut: Credentials;
let expired: Credentials;
let suspended: TestPerson;

beforeAll(async () => {
  const { database } = service.services;
  person = await createPerson(service);
  noScopes = await createKey(service.url, person.session, []);
  revoked = await createKey(service.url, person.session);
  const { keys } = (await person.get("/keys")).body;
  await person.delete(`/keys/${keys[0].id}`);

  const leaver = await createPerson(service);
  await leaver.post("/auth/logout");
  loggedOut = leaver.session;

  const sleeper = await createPerson(service);
  await database.query(sql`
    UPDATE sessions SET expires_at = now() - interval '1 second' WHERE user_id = ${sleeper.id}::uuid`);
  expired = sleeper.session;

  suspended = await createPerson(service);
  await database.query(sql`UPDATE users SET suspended_at = now() WHERE id = ${suspended.id}::uuid`);
});

const isPublic = ({ meta }: Route) => meta.access === "public";
const isSessionOnly = ({ meta }: Route) => meta.access === "session" || meta.access === "moderator";
/** No path parameter names an existing record, so that an allowed call changes nothing. */
const inputOf = (route: Route) =>
  Object.fromEntries(route.pathParameters.map((name) => [name, "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"]));

const named = (chosen: readonly Route[]) => chosen.map((route) => [route.procedurePath, route] as const);

test("every procedure says who may call it", () => {
  expect(routes.length).toBeGreaterThan(20);
  for (const { meta, procedurePath } of routes) expect(meta.access, procedurePath).toBeDefined();
});

describe.each(transports)("over $transport", ({ transport, call }) => {
  const attempt = (route: Route, headers: Credentials = {}) => call(service.url, route, inputOf(route), headers);

  const expectUnauthenticated = async (route: Route, headers?: Credentials) => {
    const { status, body } = await attempt(route, headers);
    expectErrorBody(body, "unauthenticated");
    expect(status).toBe(401);
  };
  const expectLetIn = async (route: Route, headers?: Credentials) => {
    const { status, body } = await attempt(route, headers);
    expect(["unauthenticated", "forbidden", "missing_scope"]).not.toContain(body?.error);
    expect(status).toBeLessThan(500);
  };

  test.each(named(routes.filter((route) => !isPublic(route))))(
    "%s is closed to who proves nothing: nobody, ended sessions, dead keys, suspended people",
    async (_name, route) => {
      await expectUnauthenticated(route);
      for (const nobody of [revoked, loggedOut, expired, suspended.session, suspended.key]) {
        await expectUnauthenticated(route, nobody);
      }
      await expectUnauthenticated(route, { cookie: "rebid_session=Fe26.2*1*abc" });
    },
  );

  test.each(named(routes.filter((route) => !isPublic(route))))(
    "%s does not fall back to the cookie when the bearer is malformed or dead",
    async (_name, route) => {
      const { authorization = "" } = person.key;
      const bearers = ["Bearer", "Bearer x", "Basic YTpi", "rb_live_", authorization.replace("Bearer ", "")];
      bearers.push(`${authorization}A`, authorization.slice(0, -1), `${authorization} x`, `Bearer ${authorization}`);
      bearers.push(authorization.toLowerCase(), revoked.authorization ?? "");
      for (const bearer of bearers) await expectUnauthenticated(route, { ...person.session, authorization: bearer });
    },
  );

  test.each(named(routes.filter(isPublic)))(
    "%s is open to everyone, whatever credentials they send",
    async (_name, route) => {
      for (const headers of [{}, revoked, loggedOut, expired, noScopes, { authorization: "Bearer x" }]) {
        await expectLetIn(route, headers);
      }
    },
  );

  test.each(named(routes.filter(isSessionOnly)))("%s refuses a key with every scope", async (_name, route) => {
    for (const headers of [person.key, { ...person.session, ...person.key }]) {
      const { status, body } = await attempt(route, headers);
      expectErrorBody(body, "forbidden");
      expect(status).toBe(403);
    }
  });

  test.each(named(routes.filter(({ meta }) => meta.access === "moderator")))(
    "%s refuses a person who is no moderator",
    async (_name, route) => expectErrorBody((await attempt(route, person.session)).body, "forbidden"),
  );

  test.each(named(routes.filter(({ meta }) => meta.access === "any")))("%s needs no scope", async (_name, route) => {
    await expectLetIn(route, noScopes);
  });

  test.each(named(routes.filter(({ meta }) => typeof meta.access === "object")))(
    "%s needs its scope of a key, none of a session",
    async (_name, route) => {
      if (typeof route.meta.access !== "object") return;
      const { scope } = route.meta.access;
      const others = await createKey(
        service.url,
        person.session,
        scopes.filter((other) => other !== scope),
      );
      for (const key of [noScopes, others]) {
        const { status, body } = await attempt(route, key);
        expectErrorBody(body, "missing_scope");
        expect([status, body.requiredScope]).toEqual([403, scope]);
      }
      await expectLetIn(route, await createKey(service.url, person.session, [scope]));
    },
  );

  test.each(named(routes.filter(({ type }) => type === "mutation")))(
    "%s refuses the cookie from another site's page, and only the cookie",
    async (_name, route) => {
      for (const origin of ["https://evil.example", "null", `${service.url}.evil.example`, "http://127.0.0.1"]) {
        const { status, body } = await attempt(route, { ...person.session, origin });
        expectErrorBody(body, "forbidden");
        expect(status).toBe(403);
      }
      const navigated = await attempt(route, { ...person.session, "sec-fetch-site": "cross-site" });
      expectErrorBody(navigated.body, "forbidden");
      if (!isSessionOnly(route)) await expectLetIn(route, { ...person.key, origin: "https://evil.example" });
      // A real logout would end the session that the other tests use.
      if (route.procedurePath === "auth.logout" || route.meta.access === "moderator") return;
      await expectLetIn(route, { ...person.session, origin: service.url });
    },
  );

  if (transport === "REST") {
    test("reads from another site's page get no CORS header, so the browser refuses them", async () => {
      const headers = { ...person.session, origin: "https://evil.example" };
      const answer = await rest(service.url, "GET", "/wallet", { headers });
      expect(answer.status).toBe(200);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    });
  }
});
