import { expect, test } from "vitest";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { app, clientsFile } from "./clientsFile.ts";
import { bearer, harmless, postForm } from "./flow.ts";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const cli = { client_id: "cli", client_name: "A terminal", grant_types: [DEVICE_GRANT, "refresh_token"] };
const service = useService({ settings: { oauthClientsFile: clientsFile([app, cli]) } });

const begin = () =>
  postForm(service.url, "/oauth/device", { client_id: "cli", scope: "bid:write", resource: service.url });
const ask = (deviceCode: string) =>
  postForm(service.url, "/oauth/token", { grant_type: DEVICE_GRANT, client_id: "cli", device_code: deviceCode });
const decide = (person: TestPerson, userCode: string, decision: object) =>
  person.post(`/oauth/devices/${userCode}`, decision);

test("a program without a browser gets a token once a person has allowed its code, and only once", async () => {
  const person = await createPerson(service);
  const { status, body } = await begin();
  expect(status).toBe(200);
  expect(body).toMatchObject({ verification_uri: `${service.url}/app/device`, expires_in: 600 });
  expect((await ask(body.device_code)).body.error).toBe("authorization_pending");
  const asked = await person.get(`/oauth/devices/${body.user_code.toLowerCase()}`);
  expect(asked.body).toMatchObject({ client: { id: "cli", name: "A terminal" }, scopes: [{ scope: "bid:write" }] });
  expect((await decide(person, body.user_code, harmless)).status).toBe(200);
  expect((await decide(person, body.user_code, harmless)).status).toBe(404);
  const given = await ask(body.device_code);
  expect(given.body).toMatchObject({ token_type: "Bearer", scope: "bid:write" });
  const me = await rest(service.url, "GET", "/auth/me", { credentials: bearer(given.body.access_token) });
  expect(me.body).toMatchObject({ user: { id: person.id }, auth: { scopes: ["bid:write"] } });
  expect((await ask(body.device_code)).body.error).toBe("invalid_grant");
  expect((await rest(service.url, "GET", "/auth/me", { credentials: bearer(given.body.access_token) })).status).toBe(
    401,
  );
});

test("a code that is denied, unknown or ten minutes old gives nothing", async () => {
  const person = await createPerson(service);
  const denied = await begin();
  expect((await decide(person, denied.body.user_code, { decision: "deny" })).status).toBe(200);
  expect((await ask(denied.body.device_code)).body.error).toBe("access_denied");
  expect((await person.get("/oauth/devices/BCDF-GHJK")).status).toBe(404);
  const late = await begin();
  service.clock.advance(601);
  expect((await decide(person, late.body.user_code, harmless)).status).toBe(404);
  expect((await ask(late.body.device_code)).body.error).toBe("expired_token");
});

test("only a session of a person answers a device: no key, no other site's page, nobody", async () => {
  const person = await createPerson(service);
  const { body } = await begin();
  const path = `/oauth/devices/${body.user_code}`;
  expect((await rest(service.url, "POST", path, { body: harmless })).status).toBe(401);
  expect((await rest(service.url, "POST", path, { body: harmless, credentials: person.key })).status).toBe(403);
  const elsewhere = { ...person.session, origin: "https://evil.example" };
  expect((await rest(service.url, "POST", path, { body: harmless, credentials: elsewhere })).status).toBe(403);
  expect((await ask(body.device_code)).body.error).toBe("authorization_pending");
});
