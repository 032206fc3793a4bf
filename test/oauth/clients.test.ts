import { expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { useDocumentSite } from "./documentServer.ts";
import { Browser, challengeOf, connectApp, verifierOf } from "./flow.ts";

const toThisMachine = async () => ["127.0.0.1"];
const service = useService({ settings: { webhookAllowInsecure: true }, resolve: toThisMachine });
const guarded = useService({ resolve: toThisMachine });
const open = useService({ settings: { oauthDynamicClients: true } });
const site = useDocumentSite();

let count = 0;
/** A client of its own for each test: documents are cached. */
function newClient(document: object = {}) {
  const clientId = `${site.url}/client-${++count}.json`;
  site.answer = null;
  site.document = {
    client_id: clientId,
    client_name: "An app",
    redirect_uris: ["https://app.example/cb"],
    ...document,
  };
  return clientId;
}
const begin = (clientId: string, redirectUri = "https://app.example/cb", url = service.url) =>
  new Browser(url).authorize({
    ...{ clientId, redirectUri, resource: `${url}/mcp`, challenge: challengeOf(verifierOf()) },
  });

test("an app connects with nothing but the address of its document, which is fetched once and names its domain", async () => {
  const person = await createPerson(service);
  const clientId = newClient();
  const before = site.requests;
  const asked = { clientId, redirectUri: "https://app.example/cb", resource: `${service.url}/mcp`, scope: "bid:write" };
  await connectApp(new Browser(service.url, person.session), asked);
  await connectApp(new Browser(service.url, person.session), asked);
  expect(site.requests - before).toBe(1);
  const { body } = await person.get("/keys");
  expect(body.keys[0].client).toEqual({ id: clientId, name: "An app", domain: new URL(site.url).host });
});

const bad: Record<string, object> = {
  "another client_id": { client_id: "https://other.example/client.json" },
  "no name": { client_name: undefined },
  "a name of spaces": { client_name: " \u200b " },
  "signed requests for tokens": { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [] } },
  "a secret": { client_secret: "a secret of at least 32 characters, really" },
  "authentication by a secret": { token_endpoint_auth_method: "client_secret_basic" },
  "a redirect over http": { redirect_uris: ["http://app.example/cb"] },
  "a redirect to a script": { redirect_uris: ["javascript:alert(1)"] },
  "a redirect with a fragment": { redirect_uris: ["https://app.example/cb#x"] },
  "a redirect with a user": { redirect_uris: ["https://app.example@evil.example/cb"] },
  "no redirect": { redirect_uris: [] },
};
test.each(Object.keys(bad))("a document with %s is no client", async (name) => {
  const answer = await begin(newClient(bad[name]));
  expect(answer.status).toBe(400);
  expect(answer.headers.get("location")).toBeNull();
});

const answers: Record<string, (response: import("node:http").ServerResponse) => void> = {
  "a redirect": (response) => response.writeHead(302, { location: `${site.url}/elsewhere.json` }).end(),
  "an error": (response) => response.writeHead(500).end("{}"),
  "a page": (response) => response.writeHead(200, { "content-type": "text/html" }).end(JSON.stringify(site.document)),
  "more than 10 kB": (response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ ...site.document, padding: "x".repeat(11_000) })),
  "no JSON": (response) => response.writeHead(200, { "content-type": "application/json" }).end("{"),
  "a list": (response) => response.writeHead(200, { "content-type": "application/json" }).end("[]"),
};
test.each(Object.keys(answers))("a site that answers with %s has no client", async (name) => {
  const clientId = newClient();
  site.answer = answers[name] ?? null;
  const answer = await begin(clientId);
  expect(answer.status).toBe(400);
  expect(answer.headers.get("location")).toBeNull();
});

test("a document that changes is not believed until the known one is old: no new redirect counts, and no old one is lost", async () => {
  const clientId = newClient();
  expect((await begin(clientId)).headers.get("location") ?? "").toContain("/oauth/consent/");
  site.document = { ...site.document, redirect_uris: ["https://evil.example/cb"] };
  const turned = await begin(clientId, "https://evil.example/cb");
  expect([turned.status, turned.headers.get("location")]).toEqual([400, null]);
  expect((await begin(clientId)).headers.get("location") ?? "").toContain("/oauth/consent/");
});

test("a site that does not answer is given up on after 5 seconds, and not asked again for the page that says so", {
  timeout: 20_000,
}, async () => {
  const clientId = newClient();
  const before = site.requests;
  site.answer = (response) => void response.writeHead(200, { "content-type": "application/json" }).write("{");
  expect((await begin(clientId)).status).toBe(400);
  expect(site.requests - before).toBe(1);
});

test.each([
  ["", 61],
  ["max-age=600", 601],
  ["public, max-age=31536000", 86_401],
  ["no-store", 61],
  ["max-age=1", 61],
])(
  "a document with Cache-Control %j is fetched anew %i seconds later by the service's clock",
  async (cacheControl, later) => {
    const clientId = newClient();
    const { document } = site;
    site.answer = (response) =>
      response
        .writeHead(200, { "content-type": "application/json", ...(cacheControl && { "cache-control": cacheControl }) })
        .end(JSON.stringify(document));
    const before = site.requests;
    const beginAgain = async () => {
      expect((await begin(clientId)).headers.get("location") ?? "").toContain("/oauth/consent/");
      return site.requests - before;
    };
    expect(await beginAgain()).toBe(1);
    service.clock.advance(later - 2);
    expect(await beginAgain()).toBe(1);
    service.clock.advance(2);
    expect(await beginAgain()).toBe(2);
  },
);

test("a document that failed is tried again after ten seconds, and a new redirect counts once the old document has ended", async () => {
  const clientId = newClient();
  site.answer = (response) => response.writeHead(503).end();
  expect((await begin(clientId)).status).toBe(400);
  site.answer = null;
  service.clock.advance(11);
  expect((await begin(clientId)).headers.get("location") ?? "").toContain("/oauth/consent/");
  site.document = { ...site.document, redirect_uris: ["https://new.example/cb"] };
  service.clock.advance(61);
  expect((await begin(clientId, "https://new.example/cb")).headers.get("location") ?? "").toContain("/oauth/consent/");
  expect((await begin(clientId)).status).toBe(400);
});

test("a document is never fetched over http or from a private address", async () => {
  const before = site.requests;
  expect((await begin("http://localhost/client.json")).status).toBe(400);
  expect((await begin(newClient(), "https://app.example/cb", guarded.url)).status).toBe(400);
  for (const host of ["127.0.0.1", "169.254.169.254", "[::1]", "10.0.0.1"]) {
    const answer = await begin(`https://${host}/client.json`, "https://app.example/cb", guarded.url);
    expect(answer.status).toBe(400);
  }
  expect(site.requests).toBe(before);
});

const names = {
  Rebid: null,
  "REBID Support": null,
  Rеbid: null,
  "Re\u200bbid": null,
  Reb1d: null,
  "R.e.b.i.d": null,
  "Reb|d": null,
  Ｒｅｂｉｄ: null,
  Rébíd: null,
  ʀᴇʙɪᴅ: null,
  Ꮢebid: null,
  "Example 日本": "Example 日本",
  Приложение: "Приложение",
  "Claude\u202e": "Claude",
};
test.each(Object.entries(names))("a client that calls itself %j is shown as it should be", async (name, shown) => {
  const person = await createPerson(service);
  const clientId = newClient({ client_name: name });
  await connectApp(new Browser(service.url, person.session), {
    ...{ clientId, redirectUri: "https://app.example/cb", resource: service.url },
  });
  const { body } = await person.get("/keys");
  expect(body.keys[0].client.name).toBe(shown ?? new URL(site.url).host);
});

test("the port of a loopback redirect may differ, and nothing else of any redirect", async () => {
  const clientId = newClient({
    redirect_uris: ["http://127.0.0.1/cb", "http://localhost:3000/cb", "https://app.example/cb"],
  });
  for (const good of ["http://127.0.0.1:49152/cb", "http://localhost:1/cb", "https://app.example/cb"]) {
    expect((await begin(clientId, good)).headers.get("location") ?? "", good).toContain("/oauth/consent/");
  }
  for (const wrong of [
    "http://127.0.0.1:49152/cb/more",
    "http://127.0.0.1.evil.example/cb",
    "http://127.0.0.1:80@evil.example/cb",
    "https://app.example:8443/cb",
    "https://app.example/cb?x=1",
    "https://app.example/cb/../evil",
    "https://app.example/%63b",
    "https://app.example.evil.example/cb",
    "https://APP.example/cb",
    "https://app.example/cb#",
    "https://app.example/c",
  ]) {
    const answer = await begin(clientId, wrong);
    expect([answer.status, answer.headers.get("location")], wrong).toEqual([400, null]);
  }
});

test("nobody registers unless the operator has opened it; then without a secret, and still with consent", async () => {
  const document = {
    client_name: "Dynamic",
    redirect_uris: ["https://dynamic.example/cb"],
    token_endpoint_auth_method: "client_secret_basic",
  };
  expect((await rest(service.url, "POST", "/oauth/register", { body: document })).status).toBe(404);
  const metadata = (url: string) => rest(url, "GET", "/.well-known/oauth-authorization-server");
  expect((await metadata(service.url)).body).not.toHaveProperty("registration_endpoint");
  expect((await metadata(open.url)).body.registration_endpoint).toBe(`${open.url}/oauth/register`);
  const registered = await rest(open.url, "POST", "/oauth/register", { body: document });
  expect(registered.status).toBe(201);
  expect(registered.body).toMatchObject({ client_name: "Dynamic", token_endpoint_auth_method: "none" });
  expect(registered.body).not.toHaveProperty("client_secret");
  const person = await createPerson(open);
  await connectApp(new Browser(open.url, person.session), {
    ...{ clientId: registered.body.client_id, redirectUri: "https://dynamic.example/cb", resource: `${open.url}/mcp` },
  });
  const wrong = { ...document, redirect_uris: ["http://evil.example/cb"] };
  const refused = await rest(open.url, "POST", "/oauth/register", { body: wrong });
  expect([refused.status, refused.body.error]).toEqual([400, "invalid_redirect_uri"]);
});

test("what the database cannot store registers nobody", async () => {
  for (const name of ["a\0b", "a\ud800b"]) {
    const body = { client_name: name, redirect_uris: ["https://app.example/cb"] };
    const answer = await rest(open.url, "POST", "/oauth/register", { body });
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_client_metadata"]);
  }
});
