import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { createPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { app, clientsFile } from "./clientsFile.ts";
import { Browser, bearer, challengeOf, harmless, redeem, refresh, verifierOf } from "./flow.ts";

const service = useService({ settings: { oauthClientsFile: clientsFile([app]) } });

/** Another process of the same installation, as a restart or a balancer brings it. */
async function startAnother(): Promise<string> {
  const server = createServer(createApp(service.services, { trustProxy: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a server that listens to TCP has one
}

test("nothing is signed, so there is no key to publish or to rotate", async () => {
  const { body } = await rest(service.url, "GET", "/.well-known/oauth-authorization-server");
  expect(Object.keys(body).filter((name) => /jwks|signing|id_token/.test(name))).toEqual([]);
  for (const path of ["/jwks", "/oauth/jwks", "/.well-known/jwks.json", "/.well-known/openid-configuration"]) {
    expect((await rest(service.url, "GET", path)).status, path).toBe(404);
  }
});

test("what one process has begun, any other goes on with: consent, code, token, refresh, and the end of a grant", async () => {
  const [second, third] = [await startAnother(), await startAnother()];
  const person = await createPerson(service);
  const browser = new Browser(service.url, person.session);
  const verifier = verifierOf();
  const asked = { clientId: app.client_id, redirectUri: "https://app.example/callback", resource: service.url };
  const begun = await browser.authorize({ ...asked, challenge: challengeOf(verifier) });
  const at = (url: string, path: string) => url + path.replace(service.url, "");
  const decided = await browser.fetch(at(second, begun.headers.get("location") ?? ""), {
    ...{ method: "POST", body: JSON.stringify(harmless) },
    headers: { "content-type": "application/json", origin: service.url },
  });
  expect(decided.status).toBe(200);
  const { location } = (await decided.json()) as { location: string };
  const end = new URL((await browser.fetch(at(third, location))).headers.get("location") ?? "nowhere:");
  const given = await redeem(second, asked, { code: end.searchParams.get("code") ?? "", verifier });
  expect(given.status, JSON.stringify(given.body)).toBe(200);
  const read = (url: string, token: string) => rest(url, "GET", "/wallet", { credentials: bearer(token) });
  expect((await read(third, given.body.access_token)).status).toBe(200);
  const next = await refresh(third, app.client_id, given.body.refresh_token);
  expect((await read(service.url, next.body.access_token)).status).toBe(200);
  // Of a refresh token that is used again, every process knows.
  expect((await refresh(second, app.client_id, given.body.refresh_token)).body.error).toBe("invalid_grant");
  expect((await read(third, next.body.access_token)).status).toBe(401);
});
