import { expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { app, clientsFile, otherApp } from "./clientsFile.ts";
import { Browser, bearer, challengeOf, connectApp, postForm, redeem, refresh, verifierOf } from "./flow.ts";

const service = useService({ settings: { oauthClientsFile: clientsFile([app, otherApp]) } });

const redirectUri = "https://app.example/callback";
const asked = (resource = `${service.url}/mcp`, scope = "task:write bid:write") => ({
  ...{ clientId: app.client_id, redirectUri, resource, scope, state: "a state" },
});
const mcp = (token: string, message: object) =>
  fetch(`${service.url}/mcp`, {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json" } as Record<string, string>,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
const listTools = { method: "tools/list", params: {} };

test("an app that a person allows gets a token, which opens its resource and shows as a key of kind grant", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const { accessToken, body } = await connectApp(browser, asked(service.url));
  expect(accessToken).toMatch(/^rb_oat_[\w-]{43}$/);
  expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "task:write bid:write" });
  const me = await rest(service.url, "GET", "/auth/me", { credentials: bearer(accessToken) });
  expect(me.body).toMatchObject({
    user: { id: person.id },
    auth: { kind: "apiKey", scopes: ["task:write", "bid:write"], key: { kind: "grant", spendLimit: { cents: 0 } } },
  });
  const { body: listed } = await person.get("/keys");
  const client = { id: "test-app", name: "Test App", domain: "app.example" };
  expect(listed.keys[0]).toMatchObject({ kind: "grant", client, last4: "", label: "Test App" });
  expect(listed.keys[1]).toMatchObject({ kind: "key", client: null });
});

test("a token opens only the resource that it was given for", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const forMcp = await connectApp(browser, asked());
  expect((await mcp(forMcp.accessToken, listTools)).status).toBe(200);
  expect((await rest(service.url, "GET", "/wallet", { credentials: bearer(forMcp.accessToken) })).status).toBe(401);
  const forApi = await connectApp(browser, asked(service.url));
  expect((await rest(service.url, "GET", "/wallet", { credentials: bearer(forApi.accessToken) })).status).toBe(200);
  const refused = await mcp(forApi.accessToken, listTools);
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toContain('error="invalid_token"');
  const inCapitals = await fetch(`${service.url}/MCP`, {
    method: "POST",
    headers: { ...bearer(forApi.accessToken), "content-type": "application/json" } as Record<string, string>,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...listTools }),
  });
  expect(inCapitals.status).toBe(401);
});

test("no token, code or secret is stored, only hashes", async () => {
  const person = await createPerson(service);
  const given = await connectApp(new Browser(service.url, person.session), asked());
  const rows = await service.services.database.query<{ text: string }>(sql`
    SELECT row_to_json(r)::text AS text FROM oauth_records r UNION ALL SELECT row_to_json(k)::text FROM api_keys k`);
  const all = rows.map(({ text }) => text).join("\n");
  for (const secret of [
    given.accessToken,
    given.accessToken.slice(7),
    given.refreshToken,
    given.code,
    given.verifier,
  ]) {
    expect(all).not.toContain(secret);
  }
});

test("a code works once within a minute, and its second use ends the grant", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const given = await connectApp(browser, asked());
  const again = await redeem(service.url, asked(), given);
  expect([again.status, again.body.error]).toEqual([400, "invalid_grant"]);
  expect((await mcp(given.accessToken, listTools)).status).toBe(401);
  expect((await refresh(service.url, app.client_id, given.refreshToken)).body.error).toBe("invalid_grant");

  const verifier = verifierOf();
  const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifier) });
  const end = await browser.decide(begun, {
    decision: "allow",
    spendLimitCents: 0,
    askAboveCents: 0,
    endsAfterDays: 1,
  });
  service.clock.advance(61);
  const late = await redeem(service.url, asked(), { code: end.searchParams.get("code") ?? "", verifier });
  expect([late.status, late.body.error]).toEqual([400, "invalid_grant"]);
});

test("of many uses of one code at the same time at most one gets tokens, and none of them works afterwards", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const verifier = verifierOf();
  const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifier) });
  const end = await browser.decide(begun, {
    decision: "allow",
    spendLimitCents: 0,
    askAboveCents: 0,
    endsAfterDays: 1,
  });
  const code = end.searchParams.get("code") ?? "";
  const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(service.url, asked(), { code, verifier })));
  const tokens = answers.flatMap(({ body }) => body.access_token ?? []);
  expect(tokens.length).toBeLessThanOrEqual(1);
  for (const token of tokens) expect((await mcp(token, listTools)).status).toBe(401);
});

test("refresh tokens rotate; one that is used again ends the grant, also at the same time", async () => {
  const person = await createPerson(service);
  const first = await connectApp(new Browser(service.url, person.session), asked());
  const second = await refresh(service.url, app.client_id, first.refreshToken);
  expect(second.status).toBe(200);
  expect(second.body.refresh_token).not.toBe(first.refreshToken);
  expect((await mcp(second.body.access_token, listTools)).status).toBe(200);
  const replayed = await refresh(service.url, app.client_id, first.refreshToken);
  expect([replayed.status, replayed.body.error]).toEqual([400, "invalid_grant"]);
  expect((await mcp(second.body.access_token, listTools)).status).toBe(401);
  expect((await refresh(service.url, app.client_id, second.body.refresh_token)).status).toBe(400);

  const other = await connectApp(new Browser(service.url, person.session), asked());
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => refresh(service.url, app.client_id, other.refreshToken)),
  );
  const given = answers.filter(({ status }) => status === 200);
  expect(given.length).toBeLessThanOrEqual(1);
  for (const { body } of given) expect((await mcp(body.access_token, listTools)).status).toBe(401);
});

test.each(["accessToken", "refreshToken"] as const)("revoking the %s ends the whole grant", async (which) => {
  const person = await createPerson(service);
  const given = await connectApp(new Browser(service.url, person.session), asked());
  const answer = await postForm(service.url, "/oauth/revoke", { token: given[which], client_id: app.client_id });
  expect(answer.status).toBe(200);
  expect((await mcp(given.accessToken, listTools)).status).toBe(401);
  expect((await refresh(service.url, app.client_id, given.refreshToken)).body.error).toBe("invalid_grant");
  expect((await person.get("/keys")).body.keys).toHaveLength(1);
});

test("a refresh gives no other resource and no more scopes than were allowed", async () => {
  const person = await createPerson(service);
  const scope = "bid:write message:write offline_access unknown";
  const connect = () => connectApp(new Browser(service.url, person.session), asked(undefined, scope));
  const elsewhere = await refresh(service.url, app.client_id, (await connect()).refreshToken, {
    resource: service.url,
  });
  expect([elsewhere.status, elsewhere.body.error]).toEqual([400, "invalid_target"]);
  const { refreshToken } = await connect();
  const more = await refresh(service.url, app.client_id, refreshToken, { scope: "bid:write payouts:write" });
  expect([more.status, more.body.error]).toEqual([400, "invalid_scope"]);
  // What was asked for at first may be asked for again, with what is ignored in it. A part of it is answered with all.
  let latest = refreshToken;
  for (const again of [scope, "bid:write", "offline_access"]) {
    const next = await refresh(service.url, app.client_id, latest, { resource: `${service.url}/mcp`, scope: again });
    expect([next.status, next.body.scope], again).toEqual([200, "bid:write message:write"]);
    latest = next.body.refresh_token;
  }
});

test("another client can neither use nor revoke a token", async () => {
  const person = await createPerson(service);
  const given = await connectApp(new Browser(service.url, person.session), asked());
  const stolen = await refresh(service.url, otherApp.client_id, given.refreshToken);
  expect(stolen.body.error).toBe("invalid_grant");
  await postForm(service.url, "/oauth/revoke", { token: given.refreshToken, client_id: otherApp.client_id });
  expect((await mcp(given.accessToken, listTools)).status).toBe(200);
  expect((await refresh(service.url, app.client_id, given.refreshToken)).status).toBe(200);
});

test("the service's clock ends access tokens after an hour and grants when the person said", async () => {
  const person = await createPerson(service);
  const given = await connectApp(new Browser(service.url, person.session), asked(), {
    ...{ decision: "allow", spendLimitCents: 0, askAboveCents: 0, endsAfterDays: 2 },
  });
  service.clock.advance(59 * 60);
  expect((await mcp(given.accessToken, listTools)).status).toBe(200);
  service.clock.advance(120);
  expect((await mcp(given.accessToken, listTools)).status).toBe(401);
  const next = await refresh(service.url, app.client_id, given.refreshToken);
  expect(next.status).toBe(200);
  service.clock.advance(48 * 3600);
  const ended = await refresh(service.url, app.client_id, next.body.refresh_token);
  expect([ended.status, ended.body.error]).toEqual([400, "invalid_grant"]);
});

test("each consent is a new grant and ends the older one of the same app and resource, and only that", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const older = await connectApp(browser, asked());
  const forApi = await connectApp(browser, asked(service.url));
  const newer = await connectApp(browser, asked());
  expect((await mcp(older.accessToken, listTools)).status).toBe(401);
  expect((await mcp(newer.accessToken, listTools)).status).toBe(200);
  expect((await rest(service.url, "GET", "/wallet", { credentials: bearer(forApi.accessToken) })).status).toBe(200);
});

test("a grant without scopes reads and changes nothing; offline_access and unknown scopes are ignored", async () => {
  const person = await createPerson(service, { cents: 1_000 });
  const browser = new Browser(service.url, person.session);
  const { accessToken, body } = await connectApp(browser, asked(service.url, "offline_access openid moderator"));
  expect(body).not.toHaveProperty("id_token");
  expect(body.scope ?? "").toBe("");
  expect((await rest(service.url, "GET", "/wallet", { credentials: bearer(accessToken) })).status).toBe(200);
  const task = { title: "T", description: "D", maxBudgetCents: 100 };
  const refused = await rest(service.url, "POST", "/tasks", { body: task, credentials: bearer(accessToken) });
  expect([refused.status, refused.body.requiredScope]).toEqual([403, "task:write"]);
});

test("what a person revokes, and the end of their account, end the app's access at once", async () => {
  const person = await createPerson(service);
  const given = await connectApp(new Browser(service.url, person.session), asked());
  const [{ id }] = (await person.get("/keys")).body.keys;
  expect((await person.delete(`/keys/${id}`)).status).toBe(204);
  expect((await mcp(given.accessToken, listTools)).status).toBe(401);
  expect((await refresh(service.url, app.client_id, given.refreshToken)).body.error).toBe("invalid_grant");
});

test("a call of /mcp without a token is told where to connect and which scopes to ask for", async () => {
  const answer = await fetch(`${service.url}/mcp`, { method: "POST", body: "{}" });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toBe(
    `Bearer resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp", ` +
      'scope="task:write bid:write message:write agreement:write"',
  );
});

test("at /mcp a grant is shown all tools, and one whose scope is missing is 403 insufficient_scope with what to ask for", async () => {
  const person = await createPerson(service);
  const { accessToken } = await connectApp(new Browser(service.url, person.session), asked(undefined, "bid:write"));
  const listed = (await (await mcp(accessToken, listTools)).json()) as { result: { tools: { name: string }[] } };
  const names = listed.result.tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["post_task", "place_bid", "request_payout"]));
  const call = { method: "tools/call", params: { name: "request_payout", arguments: {} } };
  const refused = await mcp(accessToken, call);
  expect(refused.status).toBe(403);
  expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
  expect(refused.headers.get("www-authenticate")).toContain('scope="bid:write payouts:write"');
  expect(await refused.json()).toMatchObject({ error: "missing_scope", requiredScope: "payouts:write" });
});
