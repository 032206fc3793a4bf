import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKey, createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, placeBid, postTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectError, issuePaths } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";
import { eventually, type Receiver, startReceiver } from "./receiver.ts";

const service = useService({ worker: true, settings: { webhookAllowInsecure: true } });
let receiver: Receiver;
/** What the receiver answers at each path; 200 elsewhere. */
const statuses: Record<string, number> = {};
let buyer: TestPerson;
let bidder: TestPerson;
let path = "";
let number = 0;

beforeAll(async () => {
  receiver = await startReceiver((request) => statuses[request.path] ?? 200);
  buyer = await createPerson(service, { cents: 1_000_000 });
  bidder = await createPerson(service);
});
afterAll(() => receiver.stop());
beforeEach(() => {
  path = `/hook${++number}`;
});

async function register(person: TestPerson, input: object) {
  const { status, body } = await person.post("/webhooks", { url: receiver.url + path, events: [], ...input });
  expect(status).toBe(201);
  return body;
}

const typesAt = (at: string) => receiver.at(at).map(({ event }) => event.type);
const arrived = (at: string, types: string[]) =>
  eventually(`${types} at ${at}`, () => JSON.stringify(typesAt(at).sort()) === JSON.stringify([...types].sort()));

test("a change answers with the endpoint and never with its secret, which stays", async () => {
  const { signingSecret, ...created } = await register(buyer, { events: ["bid.received"] });
  expect(signingSecret).toMatch(/^whsec_/);
  const change = { events: ["task.created"], logEvents: ["bid.withdrawn", "bid.withdrawn"], active: false };
  const changed = await buyer.patch(`/webhooks/${created.id}`, change);
  expect([changed.status, changed.body]).toEqual([200, { ...created, ...change, logEvents: ["bid.withdrawn"] }]);
  const { webhooks } = (await buyer.get("/webhooks")).body;
  expect(webhooks.find(({ id }: { id: string }) => id === created.id)).toEqual(changed.body);
  const kept = await service.services.database.prisma.webhookEndpoint.findUnique({ where: { id: created.id } });
  expect(kept?.signingSecret).toBe(signingSecret);
});

test("types beyond the closed set are sent to their owner when they concern them, with the log's body and its id as a header", async () => {
  await register(bidder, { logEvents: ["bid.rejected", "bid.withdrawn"] });
  const strangerAt = `${path}/stranger`;
  const stranger = await createPerson(service);
  await stranger.post("/webhooks", { url: receiver.url + strangerAt, events: [], logEvents: ["bid.rejected"] });
  const { id } = await postTask(buyer);
  await placeBid(bidder, id);
  expect((await buyer.post(`/tasks/${id}/cancel`)).status).toBe(200);

  await arrived(path, ["bid.rejected"]);
  const [request] = receiver.at(path);
  const { events } = (await bidder.get("/events?types=bid.rejected")).body;
  expect(request?.event).toEqual(events.at(-1));
  expect(request?.headers["x-event-id"]).toBe(request?.event.id);
  expect(typesAt(strangerAt)).toEqual([]);
});

test("the set of `events` stays closed, and an endpoint has at least one type", async () => {
  const url = receiver.url + path;
  const refused = async (input: object, paths: string[]) => {
    const answer = await buyer.post("/webhooks", { url, ...input });
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(paths);
  };
  await refused({ events: ["bid.rejected"] }, ["events.0"]);
  await refused({ events: [], logEvents: ["task.created"] }, ["logEvents.0"]);
  await refused({ events: [] }, ["events"]);
  await refused({ logEvents: ["bid.rejected"] }, ["events"]);
  const { id } = await register(buyer, { events: ["task.created"] });
  for (const [change, paths] of [
    [{}, [""]],
    [{ events: [] }, ["events"]],
    [{ events: ["no.such"] }, ["events.0"]],
    [{ active: true, signingSecret: "whsec_mine" }, ["signingSecret"]],
  ] as const) {
    const answer = await buyer.patch(`/webhooks/${id}`, change);
    expectError(answer, "invalid_input");
    expect(issuePaths(answer.body)).toEqual(paths);
  }
});

test("what waits to be sent goes to the new address", async () => {
  const { id } = await register(buyer, { events: ["task.created"] });
  statuses[path] = 503;
  await postTask(buyer);
  await eventually("a failed attempt", () => receiver.at(path).length === 1);
  const elsewhere = `${path}/new`;
  expect((await buyer.patch(`/webhooks/${id}`, { url: receiver.url + elsewhere })).status).toBe(200);
  const [delivery] = await eventually("its record", async () => {
    const { deliveries } = (await buyer.get(`/webhooks/${id}/deliveries`)).body;
    return deliveries[0]?.attempts.length === 1 && deliveries;
  });
  expect((await buyer.post(`/webhooks/deliveries/${delivery.id}/replay`)).status).toBe(202);
  await arrived(elsewhere, ["task.created"]);
  expect(receiver.at(elsewhere)[0]?.event.id).toBe(delivery.eventId);
  expect(receiver.at(path)).toHaveLength(1);
});

test("an endpoint that is switched off gets nothing, and events again when it is switched on", async () => {
  const { id } = await register(buyer, { events: ["bid.received"] });
  expect((await buyer.patch(`/webhooks/${id}`, { active: false })).body.active).toBe(false);
  await placeBid(bidder, (await postTask(buyer)).id);
  const control = `${path}/control`;
  await bidder.post("/webhooks", { url: receiver.url + control, events: ["task.awarded"] });
  await awardedTask(buyer, bidder);
  await arrived(control, ["task.awarded"]);
  expect(typesAt(path)).toEqual([]);
  expect((await buyer.patch(`/webhooks/${id}`, { active: true })).body.active).toBe(true);
  await placeBid(bidder, (await postTask(buyer)).id);
  await arrived(path, ["bid.received"]);
});

test("a key needs `webhook:write`, and others' endpoints do not exist", async () => {
  const { id } = await register(buyer, { events: ["task.created"] });
  const reader = await createKey(service.url, buyer.session, ["webhook:read"]);
  const change = { body: { active: false }, headers: reader };
  expectError(await rest(service.url, "PATCH", `/webhooks/${id}`, change), "missing_scope");
  expectError(await bidder.patch(`/webhooks/${id}`, { active: false }), "not_found");
  expectError(await bidder.patch(`/webhooks/${id}`, { url: "https://127.0.0.1/" }), "not_found");
});

describe("with the guard", () => {
  const guarded = useService();

  test("a private, loopback or unencrypted address is refused, and the endpoint stays as it was", async () => {
    const person = await createPerson(guarded);
    const { body: created } = await person.post("/webhooks", {
      url: "https://hooks.example.com/rebid",
      events: ["task.created"],
    });
    for (const url of [
      "https://127.0.0.1/",
      "https://[::1]/",
      "http://hooks.example.com/",
      "https://a:b@example.com/",
    ]) {
      expectError(await person.patch(`/webhooks/${created.id}`, { url, events: ["bid.received"] }), "invalid_url");
    }
    const { webhooks } = (await person.get("/webhooks")).body;
    expect(webhooks).toMatchObject([{ url: created.url, events: ["task.created"] }]);
  });
});
