import { expect, test } from "vitest";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { app, clientsFile } from "./clientsFile.ts";
import { Browser, bearer, challengeOf, connectApp, harmless, refresh, verifierOf } from "./flow.ts";

const service = useService({ settings: { oauthClientsFile: clientsFile([app]) } });

const metadata = async (name: string) => (await rest(service.url, "GET", `/.well-known/${name}`)).body;
const redirectUri = "https://app.example/callback";
const asked = () => ({ clientId: app.client_id, redirectUri, resource: `${service.url}/mcp`, scope: "bid:write" });
const post = (headers: Record<string, string>) => rest(service.url, "POST", "/mcp", { headers, body: {} });
const newToken = async () => {
  const person = await createPerson(service);
  return connectApp(new Browser(service.url, person.session), asked());
};

test("the server card says where and how to connect", async () => {
  expect(await metadata("mcp/server-card.json")).toMatchObject({
    serverInfo: { name: "rebid" },
    transport: { type: "streamable-http", endpoint: "/mcp" },
    authentication: { required: true, schemes: ["bearer", "oauth2"] },
  });
});

/**
 * What the authorization part of MCP 2026-07-28 asks of servers, and how this one does it. What it asks about client ID metadata
 * documents (exact `client_id`, required fields, redirects, cache headers, private addresses) is in clients.test.ts, that a token
 * is passed on to nobody in passedOn.test.ts, and PKCE's refusals in attacks.test.ts.
 */
const demands: Record<string, () => Promise<void>> = {
  "MUST implement protected resource metadata (RFC 9728)": async () => {
    expect(await metadata("oauth-protected-resource/mcp")).toMatchObject({
      resource: `${service.url}/mcp`,
      authorization_servers: [service.url],
    });
    expect(await metadata("oauth-protected-resource")).toMatchObject({ resource: service.url });
  },
  "MUST say where that is: in WWW-Authenticate, or at the well-known address": async () => {
    const { headers } = await post({});
    expect(headers.get("www-authenticate")).toContain(`${service.url}/.well-known/oauth-protected-resource/mcp`);
  },
  "SHOULD name the scopes in the challenge": async () => {
    expect((await post({})).headers.get("www-authenticate")).toMatch(/scope="[^"]+"/);
  },
  "MUST offer authorization server metadata (RFC 8414)": async () => {
    const found = await metadata("oauth-authorization-server");
    expect(found.issuer).toBe(service.url);
    for (const name of ["authorization", "token", "revocation", "device_authorization"]) {
      expect(found[`${name}_endpoint`]).toMatch(new RegExp(`^${service.url}/oauth/`));
    }
  },
  "MUST name PKCE in the metadata, with S256": async () => {
    expect((await metadata("oauth-authorization-server")).code_challenge_methods_supported).toEqual(["S256"]);
  },
  "SHOULD support client ID metadata documents, and say so": async () => {
    const found = await metadata("oauth-authorization-server");
    expect(found.client_id_metadata_document_supported).toBe(true);
    expect(found.token_endpoint_auth_methods_supported).toContain("none");
  },
  "SHOULD send iss in answers (RFC 9207), errors among them, and say so": async () => {
    expect((await metadata("oauth-authorization-server")).authorization_response_iss_parameter_supported).toBe(true);
    const person = await createPerson(service);
    const browser = new Browser(service.url, person.session);
    for (const decision of [harmless, { decision: "deny" }]) {
      const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifierOf()) });
      expect((await browser.decide(begun, decision)).searchParams.get("iss")).toBe(service.url);
    }
  },
  "MUST bind tokens to the resource that a client names (RFC 8707)": async () => {
    const { resource: _, ...unnamed } = asked();
    const answer = await new Browser(service.url).authorize({ ...unnamed, challenge: challengeOf(verifierOf()) });
    expect(answer.headers.get("location")).toContain("error=invalid_target");
  },
  // Clients MAY sign their requests for tokens (private_key_jwt). No part of the specification asks a server for it, and a
  // document that can do without, such as ChatGPT's, connects without: test/oauth/guide.test.ts. So it is not offered.
  "MAY offer private_key_jwt: not offered, and not announced": async () => {
    const found = await metadata("oauth-authorization-server");
    expect(found.token_endpoint_auth_methods_supported).not.toContain("private_key_jwt");
  },
  "MAY offer dynamic registration, which is deprecated: off unless an operator opens it": async () => {
    expect(await metadata("oauth-authorization-server")).not.toHaveProperty("registration_endpoint");
  },
  "SHOULD answer a missing scope with 403, insufficient_scope, and the scopes that the call takes": async () => {
    const { accessToken } = await newToken();
    const params = { name: "request_payout", arguments: {} };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const refused = await rest(service.url, "POST", "/mcp", { body, credentials: bearer(accessToken) });
    expect(refused.status).toBe(403);
    const challenge = refused.headers.get("www-authenticate") ?? "";
    for (const part of ['error="insufficient_scope"', 'scope="bid:write payouts:write"', "resource_metadata="]) {
      expect(challenge).toContain(part);
    }
  },
  "MUST validate the audience": async () => {
    const { accessToken } = await newToken();
    expect((await rest(service.url, "GET", "/wallet", { credentials: bearer(accessToken) })).status).toBe(401);
  },
  "MUST answer an invalid or expired token with 401": async () => {
    const { accessToken } = await newToken();
    service.clock.advance(3_601);
    const { status, headers } = await post(bearer(accessToken));
    expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
  },
  "MUST NOT take a token from the query": async () => {
    const { accessToken } = await newToken();
    expect((await rest(service.url, "POST", `/mcp?access_token=${accessToken}`, { body: {} })).status).toBe(401);
  },
  "MUST rotate the refresh tokens of public clients": async () => {
    const { refreshToken } = await newToken();
    const { body } = await refresh(service.url, app.client_id, refreshToken);
    expect(body.refresh_token).toMatch(/./);
    expect(body.refresh_token).not.toBe(refreshToken);
  },
  "SHOULD issue short-lived access tokens": async () => {
    expect((await newToken()).body.expires_in).toBe(3_600);
  },
  "MUST compare redirects exactly": async () => {
    const answer = await new Browser(service.url).authorize({
      ...{ ...asked(), redirectUri: `${redirectUri}/more`, challenge: challengeOf(verifierOf()) },
    });
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  },
  "MUST show where the redirect leads": async () => {
    const person = await createPerson(service);
    const browser = new Browser(service.url, person.session);
    const begun = await browser.authorize({ ...asked(), challenge: challengeOf(verifierOf()) });
    const consent = await browser.fetch(begun.headers.get("location") ?? "", {
      headers: { accept: "application/json" },
    });
    expect(await consent.json()).toMatchObject({ redirectHost: "app.example", client: { domain: "app.example" } });
  },
};

test.each(Object.keys(demands))("%s", async (name) => {
  await demands[name]?.();
});
