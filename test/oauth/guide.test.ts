import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { builtDocs } from "../docs/blocks.ts";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { useDocumentSite } from "./documentServer.ts";
import { Browser, bearer, connectApp } from "./flow.ts";

const service = useService({ settings: { webhookAllowInsecure: true }, resolve: async () => ["127.0.0.1"] });
const site = useDocumentSite();
beforeAll(builtDocs);

const guide = () => readFile(join(import.meta.dirname, "../../docs/guides/connect.md"), "utf8");
/** The address of the guide's examples, which stands for that of a service. */
const example = "https://rebid.example.com";
const here = (address: string) => address.replace(example, service.url);

/** What follows a heading of the guide, up to the next one. */
async function section(heading: string): Promise<string> {
  const [, text = ""] = (await guide()).split(`## ${heading}\n`);
  return text.split("\n## ")[0] ?? "";
}
const jsonOf = (text: string): unknown => JSON.parse(/```json[^\n]*\n(.*?)```/s.exec(text)?.[1] ?? "");

/** Goes from an address to the authorization server as every client does: 401, its metadata, the server's metadata. */
async function discover(address: string): Promise<Record<string, string>> {
  const refused = await fetch(here(address), { method: "POST", body: "{}" });
  expect(refused.status, address).toBe(401);
  const [, metadata = ""] = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  const resource = (await (await fetch(metadata)).json()) as { resource: string; authorization_servers: string[] };
  expect(resource.resource).toBe(here(address));
  const [server = ""] = resource.authorization_servers;
  return (await fetch(`${server}/.well-known/oauth-authorization-server`)).json() as Promise<Record<string, string>>;
}

test.each(["Claude", "An editor", "A program without a browser"])(
  "from the address that the guide gives under “%s” an app finds where to connect",
  async (heading) => {
    const addresses = [...(await section(heading)).matchAll(/https:\/\/rebid\.example\.com[\w/-]*/g)].map(
      ([each]) => each,
    );
    expect(addresses.length).toBeGreaterThan(0);
    for (const address of addresses) {
      const found = await discover(address.endsWith("/mcp") ? address : `${address}/mcp`);
      expect(found.code_challenge_methods_supported).toEqual(["S256"]);
      for (const [name, url] of Object.entries(found).filter(([name]) => name.endsWith("_endpoint"))) {
        const { status } = await fetch(url, { method: name === "authorization_endpoint" ? "GET" : "POST" });
        expect([400, 401], name).toContain(status);
      }
    }
  },
);

test("an editor's configuration is JSON with nothing but the address", async () => {
  expect(jsonOf(await section("An editor"))).toEqual({ mcpServers: { rebid: { url: `${example}/mcp` } } });
});

test("the app's document of the guide connects, with `resource` and the header that the guide names", async () => {
  const text = await section("An app of your own");
  const document = jsonOf(text) as { redirect_uris: string[] };
  const clientId = `${site.url}/oauth/client.json`;
  site.document = { ...document, client_id: clientId };
  const person = await createPerson(service);
  for (const resource of [service.url, `${service.url}/mcp`]) {
    const [redirectUri = ""] = document.redirect_uris;
    const given = await connectApp(new Browser(service.url, person.session), { clientId, redirectUri, resource });
    expect(text).toContain("`Authorization: Bearer rb_oat_…`");
    expect(given.accessToken).toMatch(/^rb_oat_/);
    const [method, path] = resource === service.url ? ["GET", "/wallet"] : ["POST", "/mcp"];
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const credentials = bearer(given.accessToken);
    const answer = await rest(service.url, method ?? "", path ?? "", {
      ...(method === "POST" && { body }),
      credentials,
    });
    expect(answer.status, answer.text).toBe(200);
  }
});

test("ChatGPT's document, which prefers to sign and offers not to, connects without", async () => {
  const clientId = `${site.url}/chatgpt/client.json`;
  const redirectUri = "https://chatgpt.example/connector_platform_oauth_redirect";
  const document = {
    ...{ client_id: clientId, client_name: "ChatGPT", client_uri: "https://chatgpt.example/" },
    ...{ redirect_uris: [redirectUri], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] },
    ...{ token_endpoint_auth_method: "private_key_jwt", token_endpoint_auth_signing_alg: "RS256" },
    ...{ token_endpoint_auth_methods_supported: ["none", "private_key_jwt"], jwks_uri: "https://chatgpt.example/jwks" },
  };
  site.document = document;
  const person = await createPerson(service);
  const asked = { clientId, redirectUri, resource: `${service.url}/mcp` };
  await connectApp(new Browser(service.url, person.session), asked);
  // One that can only sign is refused, at once and not after the consent.
  const { token_endpoint_auth_methods_supported: _, ...signsOnly } = document;
  site.document = { ...signsOnly, client_id: `${clientId}?only` };
  const refused = await new Browser(service.url).authorize({ ...asked, clientId: `${clientId}?only`, challenge: "x" });
  expect([refused.status, refused.headers.get("location")]).toEqual([400, null]);
});

test("the server card, llms.txt and the guides name addresses that exist", async () => {
  const { body: card } = await rest(service.url, "GET", "/.well-known/mcp/server-card.json");
  await discover(`${example}${card.transport.endpoint}`);
  const { body: metadata } = await rest(service.url, "GET", "/.well-known/oauth-authorization-server");
  const { text } = await rest(service.url, "GET", "/llms.txt");
  expect(text).toContain("`npx @rebid/mcp login`");
  expect(text).toContain("(/docs/connect.md)");
  const documentation = [card.documentationUrl, metadata.service_documentation, `${service.url}/docs/connect.md`];
  for (const url of documentation) expect((await fetch(url)).status, url).toBe(200);
  expect(await guide()).toContain("`/app/keys`");
});
