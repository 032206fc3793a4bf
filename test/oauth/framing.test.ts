import { expect, test } from "vitest";
import { askedIn, ownerAndAgent } from "../approvals/agents.ts";
import { useBuiltConsole } from "../console/visitor.ts";
import { createPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";
import { app, clientsFile } from "./clientsFile.ts";
import { Browser, challengeOf, harmless, postForm, verifierOf } from "./flow.ts";

const service = useService({ settings: { oauthClientsFile: clientsFile([app]), oauthDynamicClients: true } });
useBuiltConsole();

test("no answer of a page or endpoint that consents, decides or signs in may be shown in a frame: pages, changes and errors", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const approval = askedIn(await agent.post("/tasks", taskInput()));
  const browser = new Browser(service.url, owner.session);
  const begin = (challenge: object) =>
    browser.authorize({
      ...{ clientId: app.client_id, redirectUri: "https://app.example/callback", resource: service.url, ...challenge },
    });
  const begun = await begin({ challenge: challengeOf(verifierOf()) });
  const consent = new URL(begun.headers.get("location") ?? "", service.url).pathname;
  const uid = consent.split("/").at(-1);
  const device = await postForm(service.url, "/oauth/device", { client_id: "rebid-mcp", resource: service.url });
  const devicePath = `/oauth/devices/${device.body.user_code}`;

  const pages = [
    ...["/app/sign-in", "/app/sign-up", "/app/device", "/app/approvals", `/app/approvals/${approval.id}`, "/app/keys"],
    ...[`/app/connect/${uid}`, "/app/account", "/app/wallet", "/app/moderation/disputes", "/app/tasks", "/"],
    ...["/oauth/authorize", "/oauth/authorize?client_id=nobody", "/oauth/authorize/unknown", "/no/such/page"],
    ...[consent, "/oauth/consent/unknown", devicePath, "/oauth/devices/NONE-NONE", "/oauth/nothing"],
  ];
  const posts: [string, object][] = [
    ["/oauth/authorize", {}],
    ["/oauth/token", {}],
    ["/oauth/device", {}],
    ["/oauth/revoke", {}],
    ["/oauth/register", {}],
    ["/oauth/consent/unknown", harmless],
    ["/oauth/devices/NONE-NONE", harmless],
    [`/approvals/${approval.id}/approve`, { seen: "old" }],
    [`/approvals/${approval.id}/decline`, { reason: "No." }],
    ["/auth/login", { email: owner.email, password: "wrong" }],
    ["/auth/login", { email: owner.email, password: owner.password }],
    ["/app/sign-in", {}],
  ];
  const seen = new Map<string, { status: number; policy: string | null }>();
  const note = (name: string, { status, headers }: { status: number; headers: Headers }) =>
    seen.set(name, { status, policy: headers.get("content-security-policy") });
  note("a consent that begins", begun);
  note("an authorization that leads back with an error", await begin({}));
  for (const path of pages) {
    for (const accept of ["text/html", "application/json"]) {
      note(`GET ${path} ${accept}`, await browser.fetch(path, { headers: { accept } }));
      note(`HEAD ${path} ${accept}`, await browser.fetch(path, { method: "HEAD", headers: { accept } }));
      note(
        `GET ${path} ${accept}, signed out`,
        await fetch(service.url + path, { headers: { accept }, redirect: "manual" }),
      );
    }
  }
  for (const [path, body] of posts) {
    note(`POST ${path}`, await rest(service.url, "POST", path, { body, credentials: owner.session }));
    note(`POST ${path}, signed out`, await rest(service.url, "POST", path, { body }));
  }
  const decided = await browser.fetch(consent, {
    ...{ method: "POST", body: JSON.stringify(harmless) },
    headers: { "content-type": "application/json", origin: service.url },
  });
  note("a consent that is given", decided);
  note("the way back to the app", await browser.fetch(((await decided.json()) as { location: string }).location));
  const open = [...seen].filter(([, { policy }]) => !/(^|; )frame-ancestors 'none'(;|$)/.test(policy ?? ""));
  expect(open).toEqual([]);
  const statuses = new Set([...seen.values()].map(({ status }) => status));
  expect([...statuses]).toEqual(expect.arrayContaining([200, 303, 400, 401, 404, 405]));
});

test("the pages of the mail's and the processor's links cannot be framed either", async () => {
  const person = await createPerson(service);
  for (const path of ["/app/reset-password", "/app/verify-email", "/topup/done", "/onboarding/done"]) {
    const { headers } = await rest(service.url, "GET", path, { credentials: person.session });
    expect(headers.get("content-security-policy"), path).toContain("frame-ancestors 'none'");
  }
});
