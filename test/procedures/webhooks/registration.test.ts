import { expect, test } from "vitest";
import { createKey, createPerson } from "../../factories/people.ts";
import { rest } from "../../setup/client.ts";
import { useService } from "../../setup/testService.ts";

const names: Record<string, string[]> = {
  "public.example.com": ["93.184.215.14"],
  "private.example.com": ["93.184.215.14", "192.168.0.7"],
};
const service = useService({
  resolve: async (hostname) => names[hostname] ?? Promise.reject(new Error("no such name")),
});
const url = "https://public.example.com/hook";
const events = ["task.created", "bid.received"];

test("registration returns the endpoint and its signing secret, which no other response shows", async () => {
  const person = await createPerson(service);
  const created = await person.post("/webhooks", { url, events });
  expect(created.status).toBe(201);
  const { signingSecret, ...webhook } = created.body;
  expect(signingSecret).toMatch(/^whsec_[0-9a-f]{64}$/);
  expect(webhook).toEqual({
    id: expect.any(String),
    url,
    events,
    logEvents: [],
    active: true,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
  });
  const listed = await person.get("/webhooks");
  expect(listed.body).toEqual({ webhooks: [webhook] });
  expect(listed.text).not.toContain(signingSecret);
  const again = await person.post("/webhooks", { url, events });
  expect(again.body.signingSecret).not.toBe(signingSecret);
});

test.each([
  "http://public.example.com/hook",
  "https://127.0.0.1/",
  "https://[::ffff:10.0.0.1]/",
  "https://localhost/",
  "https://private.example.com/",
  "https://user:password@public.example.com/",
  "no url",
])("registering %s is refused as invalid_url", async (bad) => {
  const person = await createPerson(service);
  const answer = await person.post("/webhooks", { url: bad, events });
  expect(answer).toMatchObject({ status: 400, body: { error: "invalid_url" } });
  expect((await person.get("/webhooks")).body.webhooks).toEqual([]);
});

test.each([
  ["an unknown event", { url, events: ["task.created", "task.deleted"] }, "events.1"],
  ["an empty list of events", { url, events: [] }, "events"],
  ["a URL of 2,049 characters", { url: url.padEnd(2_049, "x"), events }, "url"],
  ["a missing URL", { events }, "url"],
  ["a signing secret chosen by the caller", { url, events, signingSecret: "whsec_mine" }, "signingSecret"],
])("%s is refused as invalid_input", async (_name, body, path) => {
  const person = await createPerson(service);
  const answer = await person.post("/webhooks", body);
  expect(answer).toMatchObject({ status: 400, body: { error: "invalid_input", issues: [{ path }] } });
});

test("a URL of 2,048 characters and repeated events are accepted; each event is kept once", async () => {
  const person = await createPerson(service);
  const answer = await person.post("/webhooks", { url: url.padEnd(2_048, "x"), events: [...events, "task.created"] });
  expect(answer).toMatchObject({ status: 201, body: { events } });
});

test("a key needs webhook:write to register, test, replay and delete, and webhook:read to list", async () => {
  const person = await createPerson(service);
  const { id } = (await person.post("/webhooks", { url, events })).body;
  const reader = await createKey(service.url, person.session, ["webhook:read"]);
  const writer = await createKey(service.url, person.session, ["webhook:write"]);
  const call = async (method: string, path: string, credentials: typeof reader, body?: unknown) => {
    const answer = await rest(service.url, method, path, { credentials, body });
    return [answer.status, answer.body?.requiredScope];
  };
  const since = "2026-01-01T00:00:00Z";
  expect(await call("POST", "/webhooks", reader, { url, events })).toEqual([403, "webhook:write"]);
  expect(await call("POST", `/webhooks/${id}/test`, reader)).toEqual([403, "webhook:write"]);
  expect(await call("POST", `/webhooks/${id}/replay`, reader, { since })).toEqual([403, "webhook:write"]);
  expect(await call("DELETE", `/webhooks/${id}`, reader)).toEqual([403, "webhook:write"]);
  expect(await call("GET", "/webhooks", writer)).toEqual([403, "webhook:read"]);
  expect(await call("GET", `/webhooks/${id}/deliveries`, writer)).toEqual([403, "webhook:read"]);
  expect(await call("GET", "/webhooks", reader)).toEqual([200, undefined]);
  expect(await call("DELETE", `/webhooks/${id}`, writer)).toEqual([204, undefined]);
});

test("another user's endpoints and deliveries are not found", async () => {
  const owner = await createPerson(service);
  const other = await createPerson(service);
  const { id } = (await owner.post("/webhooks", { url, events })).body;
  const { delivery } = (await owner.post(`/webhooks/${id}/test`)).body;
  const statuses = [
    await other.get(`/webhooks/${id}/deliveries`),
    await other.post(`/webhooks/${id}/test`),
    await other.post(`/webhooks/${id}/replay`, { since: "2026-01-01T00:00:00Z" }),
    await other.post(`/webhooks/deliveries/${delivery.id}/replay`),
    await other.delete(`/webhooks/${id}`),
    await owner.delete(`/webhooks/${crypto.randomUUID()}`),
  ].map(({ status }) => status);
  expect(statuses).toEqual([404, 404, 404, 404, 404, 404]);
  expect((await other.get("/webhooks")).body.webhooks).toEqual([]);
});

test("a test is refused as invalid_url when the URL's host has come to resolve to a private address", async () => {
  const person = await createPerson(service);
  names["moving.example.com"] = ["93.184.215.14"];
  const { id } = (await person.post("/webhooks", { url: "https://moving.example.com/", events })).body;
  names["moving.example.com"] = ["10.0.0.1"];
  expect(await person.post(`/webhooks/${id}/test`)).toMatchObject({ status: 400, body: { error: "invalid_url" } });
});
