import { expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { deliveredTask, postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { app, clientsFile, otherApp } from "./clientsFile.ts";
import { Browser, bearer, challengeOf, connectApp, harmless, postForm, redeem, verifierOf } from "./flow.ts";

const service = useService({ settings: { oauthClientsFile: clientsFile([app, otherApp]) } });
const redirectUri = "https://app.example/callback";
const asked = (scope = "task:write bid:write payouts:write agreement:write message:write") => ({
  ...{ clientId: app.client_id, redirectUri, resource: service.url, scope, state: "a state" },
});
const errorOf = (answer: Response) => new URL(answer.headers.get("location") ?? "nowhere:").searchParams.get("error");

test("a phished consent moves no money, and reads only what a key reads", async () => {
  const victim = await createPerson(service, { cents: 50_000 });
  const bidder = await createPerson(service);
  const task = await postTask(victim, { maxBudgetCents: 5_000 });
  const placed = await bidder.post(`/tasks/${task.id}/bids`, { priceCents: 4_000, etaHours: 5 });
  const { task: delivered } = await deliveredTask(victim, bidder);
  const { accessToken } = await connectApp(new Browser(service.url, victim.session), asked());
  const credentials = bearer(accessToken);
  const before = (await victim.get("/wallet")).body;
  const attempts: [string, string, object?][] = [
    ["POST", "/tasks", { title: "Mine", description: "All of it", maxBudgetCents: 100 }],
    ["PATCH", `/tasks/${task.id}`, { title: "Other" }],
    ["POST", `/tasks/${task.id}/award`, { bidId: placed.body.bid.id }],
    ["POST", `/tasks/${delivered.id}/accept`],
    [
      "POST",
      `/tasks/${delivered.id}/agreements`,
      { kind: "settle", bidderCents: 4_000, reason: "Let us settle this." },
    ],
    ["POST", "/payouts", { amountCents: 1_000 }],
    ["POST", "/wallet/topup", { amountCents: 1_000 }],
    ["POST", "/payouts/onboarding", {}],
    ["POST", "/keys", { label: "more", scopes: ["task:write"] }],
    ["POST", "/auth/password", { currentPassword: victim.password, newPassword: "another password" }],
    ["POST", "/webhooks", { url: "https://evil.example/", events: ["task.created"] }],
  ];
  const answers = [];
  for (const [method, path, body] of attempts) {
    const answer = await rest(service.url, method, path, { body, credentials });
    answers.push([path, answer.status]);
  }
  const moved = answers.filter(([path, status]) => path !== `/tasks/${task.id}` && Number(status) < 400);
  expect(moved).toEqual([]);
  expect((await victim.get("/wallet")).body).toEqual(before);
  expect((await victim.get(`/tasks/${delivered.id}`)).body.task.status).toBe("delivered");
  for (const path of ["/auth/sessions", "/auth/export", "/keys"]) {
    expect((await rest(service.url, "GET", path, { credentials })).status, path).toBe(403);
  }
  expect((await rest(service.url, "GET", "/webhooks", { credentials })).body).toMatchObject({
    ...{ error: "missing_scope", requiredScope: "webhook:read" },
  });
});

test("nobody consents to what another browser began", async () => {
  const victim = await createPerson(service);
  const attacker = await createPerson(service);
  const begun = await new Browser(service.url, attacker.session).authorize({
    ...asked(),
    challenge: challengeOf(verifierOf()),
  });
  const consent = begun.headers.get("location") ?? "";
  const headers = { origin: service.url, accept: "application/json" };
  const answer = await rest(service.url, "POST", consent.replace(service.url, ""), {
    ...{ body: harmless, credentials: victim.session, headers },
  });
  expect(answer.status).toBe(404);
});

test("a consent is given by a page of the service only, by a session only, and shown in no frame", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifierOf()) });
  const consent = begun.headers.get("location") ?? "";
  const post = (headers: Record<string, string>, body = JSON.stringify(harmless)) =>
    browser.fetch(consent, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  expect((await post({ origin: "https://evil.example" })).status).toBe(403);
  expect((await post({ "sec-fetch-site": "cross-site" })).status).toBe(403);
  const form = { "content-type": "application/x-www-form-urlencoded", origin: service.url };
  expect((await post(form, "decision=allow")).status).toBe(415);
  expect((await post({ origin: service.url, ...person.key })).status).toBe(403);
  expect((await new Browser(service.url).fetch(consent, { headers: { accept: "application/json" } })).status).toBe(401);
  const page = await browser.fetch(consent, { headers: { accept: "text/html" } });
  expect([page.status, page.headers.get("location")]).toEqual([303, expect.stringMatching(/^\/app\/connect\//)]);
  expect(begun.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
});

test.each([
  ["no PKCE", {}, "invalid_request"],
  ["PKCE without a method", { code_challenge: "x".repeat(43) }, "invalid_request"],
  ["PKCE in plain", { code_challenge: "x".repeat(43), code_challenge_method: "plain" }, "invalid_request"],
  ["the implicit flow", { response_type: "token" }, "unsupported_response_type"],
] as const)("an authorization request with %s leads back with an error and iss", async (_name, extra, error) => {
  const answer = await new Browser(service.url).authorize({ ...asked(), extra });
  const location = new URL(answer.headers.get("location") ?? "nowhere:");
  expect(location.origin).toBe("https://app.example");
  const found = new URLSearchParams(location.search || location.hash.slice(1));
  expect([found.get("error"), found.get("iss"), found.get("state")]).toEqual([error, service.url, "a state"]);
});

test.each([
  ["no resource", undefined],
  ["another service", "https://other.example/mcp"],
  ["a longer path", "/mcp/more"],
  ["a slash at its end", "/mcp/"],
])("a request for %s is invalid_target", async (_name, path) => {
  const resource = path?.startsWith("/") ? `${service.url}${path}` : path;
  const { resource: _, ...others } = asked();
  const answer = await new Browser(service.url).authorize({
    ...others,
    ...(resource !== undefined && { resource }),
    challenge: challengeOf(verifierOf()),
  });
  expect(errorOf(answer)).toBe("invalid_target");
});

test("a code is of its client, its redirect, its verifier and its resource", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const newCode = async () => {
    const verifier = verifierOf();
    const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifier) });
    const end = await browser.decide(begun, harmless);
    expect(end.searchParams.get("iss")).toBe(service.url);
    expect(end.searchParams.get("state")).toBe("a state");
    return { code: end.searchParams.get("code") ?? "", verifier };
  };
  const injected = await redeem(service.url, { ...asked(), clientId: otherApp.client_id }, await newCode());
  expect(injected.body.error).toBe("invalid_grant");
  const elsewhere = { ...asked(), redirectUri: "http://127.0.0.1/callback" };
  expect((await redeem(service.url, elsewhere, await newCode())).body.error).toBe("invalid_grant");
  const unproved = { ...(await newCode()), verifier: verifierOf() };
  expect((await redeem(service.url, asked(), unproved)).body.error).toBe("invalid_grant");
  const { code, verifier } = await newCode();
  const form = { grant_type: "authorization_code", client_id: app.client_id, redirect_uri: redirectUri, code };
  const downgraded = await postForm(service.url, "/oauth/token", { ...form, resource: service.url });
  expect([downgraded.status, downgraded.body.error]).toEqual([400, "invalid_grant"]);
  const plain = { ...form, resource: service.url, code_verifier: challengeOf(verifier) };
  expect((await postForm(service.url, "/oauth/token", plain)).body.error).toBe("invalid_grant");
  const widened = await redeem(service.url, { ...asked(), resource: `${service.url}/mcp` }, await newCode());
  expect(widened.body.error).toBe("invalid_target");
});

test("a person who says no sends the app back with access_denied, and nothing was granted", async () => {
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifierOf()) });
  const end = await browser.decide(begun, { decision: "deny" });
  expect(end.searchParams.get("error")).toBe("access_denied");
  expect([end.searchParams.get("iss"), end.searchParams.get("state")]).toEqual([service.url, "a state"]);
  expect((await person.get("/keys")).body.keys).toHaveLength(1);
});

test("a token in the address opens nothing", async () => {
  const person = await createPerson(service);
  const { accessToken } = await connectApp(new Browser(service.url, person.session), asked());
  expect((await rest(service.url, "GET", `/wallet?access_token=${accessToken}`)).status).toBe(401);
});

test("the address of answers is the service's own, whatever a request's Host says", async () => {
  const answer = await fetch(`${service.url}/.well-known/oauth-authorization-server`, {
    headers: { host: "evil.example" },
  });
  expect(((await answer.json()) as { issuer: string }).issuer).toBe(service.url);
});

test("an endpoint of the protocol answers JSON without a stack, also to nonsense", async () => {
  for (const form of [{}, { grant_type: "password" }, { grant_type: "authorization_code", client_id: "nobody" }]) {
    const { status, body } = await postForm(service.url, "/oauth/token", form as Record<string, string>);
    expect([400, 401]).toContain(status);
    expect(Object.keys(body).sort()).toEqual(["error", "error_description"]);
  }
  const page = await fetch(`${service.url}/oauth/authorize?client_id=<script>`, { headers: { accept: "text/html" } });
  expect(page.status).toBe(400);
  expect(await page.text()).not.toContain("<script>");
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
});

test("text that the database cannot store is a bad request, wherever a client sends it", async () => {
  const begun = new Browser(service.url);
  const begin = { ...asked(), challenge: challengeOf(verifierOf()) };
  for (const changes of [{ state: "a\0b" }, { scope: "task:write \0" }]) {
    const answer = await begun.authorize({ ...begin, ...changes });
    const said = answer.status === 303 ? errorOf(answer) : answer.status;
    expect([400, "invalid_request", "invalid_scope"], JSON.stringify(changes)).toContain(said);
  }
  for (const path of ["/oauth/device", "/oauth/token"]) {
    const form = { client_id: app.client_id, scope: "bid:write\0", resource: service.url, grant_type: "a\0b" };
    expect((await postForm(service.url, path, form)).status, path).toBe(400);
  }
});
