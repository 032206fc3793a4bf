import Stripe from "stripe";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { replayDelivery, replayFailed } from "../../server/webhooks/replay.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { useService } from "../setup/testService.ts";
import { type Behaviour, eventually, type Receiver, startReceiver } from "./receiver.ts";

const service = useService({ worker: true, settings: { webhookAllowInsecure: true } });
const behaviours: Record<string, Behaviour> = {};
let receiver: Receiver;
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  receiver = await startReceiver((request, count) => behaviours[request.path]?.(request, count) ?? 200);
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
});
afterAll(() => receiver.stop());

let path = "";
let number = 0;
beforeEach(() => {
  path = `/hook${++number}`;
});

async function register(person: TestPerson, events: string[], behave: Behaviour = () => 200) {
  behaviours[path] = behave;
  const answer = await person.post("/webhooks", { url: receiver.url + path, events });
  expect(answer.status).toBe(201);
  return answer.body as { id: string; signingSecret: string };
}

async function deliveriesOf(person: TestPerson, webhookId: string, query = "") {
  const answer = await person.get(`/webhooks/${webhookId}/deliveries${query}`);
  expect(answer.status).toBe(200);
  return answer.body.deliveries;
}

/** Waits until the endpoint's newest delivery satisfies the check. */
function newestDelivery(
  person: TestPerson,
  webhookId: string,
  // biome-ignore lint/suspicious/noExplicitAny: a delivery as it came over HTTP
  check: (delivery: any) => boolean,
) {
  return eventually("a delivery", async () => {
    const [newest] = await deliveriesOf(person, webhookId);
    return newest && check(newest) ? newest : null;
  });
}

const isOver = (delivery: { status: string }) => delivery.status !== "pending";
const hasAttempts = (count: number) => (delivery: { attempts: unknown[] }) => delivery.attempts.length === count;

test("Stripe's own library verifies an event's signature, which covers the exact bytes sent", async () => {
  const webhook = await register(bidder, ["task.created"]);
  const task = await postTask(buyer);
  const [request] = await eventually("the event", () => receiver.at(path).length === 1 && receiver.at(path));
  const signature = String(request?.headers["x-service-signature"]);
  expect(signature).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);

  const event = Stripe.webhooks.constructEvent(request?.body ?? "", signature, webhook.signingSecret, 300);

  expect(event).toMatchObject({ type: "task.created", data: { task: { id: task.id, title: task.title } } });
  expect(Object.keys(request?.event)).toEqual(["id", "type", "createdAt", "data"]);
  expect(request?.headers).toMatchObject({ "content-type": "application/json", "user-agent": "Rebid-Webhooks/1" });
  expect(() => Stripe.webhooks.constructEvent(`${request?.body} `, signature, webhook.signingSecret)).toThrow();
  expect(() => Stripe.webhooks.constructEvent(request?.body ?? "", signature, "whsec_other")).toThrow();
});

test("task.created goes to every subscriber, the other events to the parties only", async () => {
  const all = ["task.created", "bid.received", "task.awarded", "delivery.posted", "task.accepted"];
  const stranger = await createPerson(service);
  const paths = { buyer: `${path}/buyer`, bidder: `${path}/bidder`, stranger: `${path}/stranger` };
  for (const [person, at] of [
    [buyer, paths.buyer],
    [bidder, paths.bidder],
    [stranger, paths.stranger],
  ] as const) {
    path = at;
    await register(person, all);
  }
  const { task } = await deliveredTask(buyer, bidder);
  expect((await buyer.post(`/tasks/${task.id}/accept`)).status).toBe(200);
  const typesAt = (at: string) =>
    receiver
      .at(at)
      .filter(({ event }) => event.data.task.id === task.id)
      .map(({ event }) => event.type)
      .sort();

  await eventually("the last event", () => typesAt(paths.buyer).length + typesAt(paths.bidder).length === 9);

  expect(typesAt(paths.buyer)).toEqual(all.toSorted());
  expect(typesAt(paths.bidder)).toEqual(all.filter((type) => type !== "bid.received").sort());
  expect(typesAt(paths.stranger)).toEqual(["task.created"]);
});

test("an endpoint receives only the events that it subscribed to, and only those that happen after its registration", async () => {
  await postTask(buyer);
  const webhook = await register(buyer, ["bid.received"]);
  const task = await postTask(buyer);
  await placeBid(bidder, task.id);
  await newestDelivery(buyer, webhook.id, isOver);
  expect(receiver.at(path).map(({ event }) => event.type)).toEqual(["bid.received"]);
});

test("a 5xx is retried five times, after 30 s, 2 min, 10 min, 1 h and 6 h (±10 %), then kept as failed; each attempt has the same bytes and its own signature", async () => {
  const webhook = await register(bidder, ["task.created"], () => 503);
  await postTask(buyer);
  for (const [index, seconds] of [30, 120, 600, 3_600, 21_600].entries()) {
    const delivery = await newestDelivery(bidder, webhook.id, hasAttempts(index + 1));
    const { attemptedAt } = delivery.attempts[index];
    const waitSeconds = (Date.parse(delivery.nextAttemptAt) - Date.parse(attemptedAt)) / 1000;
    expect(waitSeconds).toBeGreaterThan(seconds * 0.9 - 0.01);
    expect(waitSeconds).toBeLessThan(seconds * 1.1 + 2);
    service.clock.advance(waitSeconds + 1);
  }
  const delivery = await newestDelivery(bidder, webhook.id, hasAttempts(6));
  expect(delivery).toMatchObject({ status: "failed", nextAttemptAt: null });
  for (const attempt of delivery.attempts) {
    expect(attempt).toMatchObject({ statusCode: 503, error: null, durationMs: expect.any(Number) });
  }
  const requests = receiver.at(path);
  expect(requests).toHaveLength(6);
  expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
  expect(new Set(requests.map(({ headers }) => headers["x-service-signature"])).size).toBe(6);
});

test("a closed connection is retried, and the attempt records the reason", async () => {
  const webhook = await register(bidder, ["task.created"], (_request, count) =>
    count === 1 ? (response) => response.destroy() : 200,
  );
  await postTask(buyer);
  const delivery = await newestDelivery(bidder, webhook.id, hasAttempts(1));
  expect(delivery).toMatchObject({
    status: "pending",
    attempts: [{ statusCode: null, error: expect.stringMatching(/closed/) }],
  });
  service.clock.advance(34);
  expect((await newestDelivery(bidder, webhook.id, isOver)).status).toBe("succeeded");
});

test.each([301, 302, 307, 400, 401, 404, 408, 429])(
  "%i is final: no retry, and the redirect is not followed",
  async (status) => {
    const person = await createPerson(service);
    const webhook = await register(person, ["task.created"], () => status);
    await postTask(buyer);
    const delivery = await newestDelivery(person, webhook.id, isOver);
    expect(delivery).toMatchObject({ status: "failed", nextAttemptAt: null, attempts: [{ statusCode: status }] });
    expect(receiver.at(path)).toHaveLength(1);
    expect(receiver.at("/elsewhere")).toHaveLength(0);
    expect((await person.get("/webhooks")).body.webhooks[0].active).toBe(true);
  },
);

test("410 switches the endpoint off: nothing more is sent to it until a replay switches it on again", async () => {
  const webhook = await register(bidder, ["task.created"], (_request, count) => (count === 1 ? 410 : 200));
  await postTask(buyer);
  const delivery = await newestDelivery(bidder, webhook.id, isOver);
  const activeNow = async () => (await bidder.get("/webhooks")).body.webhooks[0].active;
  await eventually("the endpoint to be switched off", async () => !(await activeNow()));
  await postTask(buyer);
  const other = await createPerson(service);
  path = `${path}/witness`;
  const witness = await register(other, ["task.created"]);
  await postTask(buyer);
  await newestDelivery(other, witness.id, isOver);
  expect(await deliveriesOf(bidder, webhook.id)).toHaveLength(1);

  expect((await bidder.post(`/webhooks/deliveries/${delivery.id}/replay`)).status).toBe(202);

  expect((await newestDelivery(bidder, webhook.id, hasAttempts(2))).status).toBe("succeeded");
  expect(await activeNow()).toBe(true);
});

test("an endpoint is switched off after 100 failures in a row over at least 3 days, not after 100 in less time", async () => {
  const person = await createPerson(service);
  const webhook = await register(person, ["task.created"], () => 404);
  const failTimes = async (count: number) => {
    const before = receiver.at(path).length;
    for (let sent = 0; sent < count; sent++) await postTask(buyer, { maxBudgetCents: 100 });
    await eventually("the failures", () => receiver.at(path).length === before + count);
    await eventually(
      "their records",
      async () => (await deliveriesOf(person, webhook.id, "?status=pending")).length === 0,
    );
  };
  const activeNow = async () => (await person.get("/webhooks")).body.webhooks[0].active;
  await failTimes(100);
  expect(await activeNow()).toBe(true);
  service.clock.advance(3 * 86_400 + 1);
  await failTimes(1);
  expect(await activeNow()).toBe(false);
});

test("a success resets the count of failures in a row", async () => {
  const person = await createPerson(service);
  const webhook = await register(person, ["task.created"], (_request, count) => (count === 2 ? 200 : 404));
  for (let sent = 1; sent <= 3; sent++) {
    await postTask(buyer);
    await eventually("the attempt", async () => {
      const deliveries = await deliveriesOf(person, webhook.id);
      return deliveries.length === sent && deliveries.every(isOver);
    });
  }
  const { failuresInRow } = await service.services.database.prisma.webhookEndpoint.findUniqueOrThrow({
    where: { id: webhook.id },
  });
  expect(failuresInRow).toBe(1);
});

test("a replay keeps the event's id and bytes, signs them again and makes one attempt", async () => {
  const webhook = await register(bidder, ["task.created"], (_request, count) => (count < 3 ? 400 : 200));
  await postTask(buyer);
  const failed = await newestDelivery(bidder, webhook.id, isOver);
  service.clock.advance(10);
  const answer = await bidder.post(`/webhooks/deliveries/${failed.id}/replay`);
  expect(answer.status).toBe(202);
  expect(answer.body.delivery).toMatchObject({ id: failed.id, eventId: failed.eventId, status: "pending" });
  const again = await newestDelivery(bidder, webhook.id, (delivery) => isOver(delivery) && hasAttempts(2)(delivery));
  expect(again.status).toBe("failed");
  service.clock.advance(10);
  await bidder.post(`/webhooks/deliveries/${failed.id}/replay`);
  expect((await newestDelivery(bidder, webhook.id, hasAttempts(3))).status).toBe("succeeded");

  const requests = receiver.at(path);
  expect(requests.map(({ event }) => event.id)).toEqual([failed.eventId, failed.eventId, failed.eventId]);
  expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
  expect(new Set(requests.map(({ headers }) => headers["x-service-signature"])).size).toBe(3);
});

test("a replay that fails with 5xx is not retried", async () => {
  const webhook = await register(bidder, ["task.created"], (_request, count) => (count === 1 ? 400 : 503));
  await postTask(buyer);
  const failed = await newestDelivery(bidder, webhook.id, isOver);
  await bidder.post(`/webhooks/deliveries/${failed.id}/replay`);
  expect(await newestDelivery(bidder, webhook.id, hasAttempts(2))).toMatchObject({
    status: "failed",
    nextAttemptAt: null,
  });
});

test("a replay since a given time sends the deliveries that failed since then, and no others", async () => {
  let broken = true;
  const webhook = await register(bidder, ["task.created"], () => (broken ? 400 : 200));
  const known = new Set<string>();
  const sendNext = async () => {
    await postTask(buyer);
    const delivery = await newestDelivery(bidder, webhook.id, (newest) => !known.has(newest.id) && isOver(newest));
    known.add(delivery.id);
    return delivery;
  };
  await sendNext();
  const { createdAt: since } = await sendNext();
  await sendNext();
  broken = false;
  expect((await sendNext()).status).toBe("succeeded");

  const answer = await bidder.post(`/webhooks/${webhook.id}/replay`, { since });

  expect(answer).toMatchObject({ status: 202, body: { replayed: 2 } });
  const statuses = async () => (await deliveriesOf(bidder, webhook.id)).map(({ status }: { status: string }) => status);
  await eventually("the replays", async () => (await statuses()).join() === "succeeded,succeeded,succeeded,failed");
  expect(receiver.at(path)).toHaveLength(6);
});

test("a replay since a given time includes the delivery of an older event if it failed permanently after that time", async () => {
  let status = 400;
  const webhook = await register(bidder, ["task.created"], () => status);
  await postTask(buyer);
  const { id } = await newestDelivery(bidder, webhook.id, isOver);
  const since = new Date().toISOString();
  await bidder.post(`/webhooks/deliveries/${id}/replay`);
  await newestDelivery(bidder, webhook.id, hasAttempts(2));
  status = 200;
  expect(await bidder.post(`/webhooks/${webhook.id}/replay`, { since })).toMatchObject({ body: { replayed: 1 } });
  expect(await newestDelivery(bidder, webhook.id, hasAttempts(3))).toMatchObject({ id, status: "succeeded" });
});

test("replays that race with the endpoint being switched off leave nothing pending, whichever comes last", async () => {
  const person = await createPerson(service);
  const webhook = await register(person, ["task.created"], (_request, count) =>
    count > 5 && count % 3 === 0 ? 410 : 400,
  );
  for (let count = 0; count < 5; count++) await postTask(buyer);
  const pending = async () => deliveriesOf(person, webhook.id, "?status=pending");
  const failed = await eventually("the failures", async () => {
    const deliveries = await deliveriesOf(person, webhook.id, "?status=failed");
    return deliveries.length === 5 && deliveries;
  });
  for (let round = 0; round < 10; round++) {
    service.clock.advance(60);
    const answers = await Promise.all([
      ...failed.map(({ id }: { id: string }) => person.post(`/webhooks/deliveries/${id}/replay`)),
      person.post(`/webhooks/${webhook.id}/replay`, { since: failed.at(-1).createdAt }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  }
  await eventually("the end of all replays", async () => (await pending()).length === 0);
});

test("a replay since a given time switches the endpoint on, even if nothing has failed since then", async () => {
  const person = await createPerson(service);
  const webhook = await register(person, ["task.created"], () => 410);
  await postTask(buyer);
  await newestDelivery(person, webhook.id, isOver);
  const activeNow = async () => (await person.get("/webhooks")).body.webhooks[0].active;
  expect(await activeNow()).toBe(false);
  const since = new Date(Date.now() + 86_400_000).toISOString();
  expect(await person.post(`/webhooks/${webhook.id}/replay`, { since })).toMatchObject({ body: { replayed: 0 } });
  expect(await activeNow()).toBe(true);
});

test("a test sends one signed sample of an event that the endpoint subscribed to, to that endpoint only", async () => {
  const webhook = await register(bidder, ["task.awarded", "task.created"], () => 500);
  const answer = await bidder.post(`/webhooks/${webhook.id}/test`);
  expect(answer.status).toBe(202);
  expect(answer.body.delivery).toMatchObject({ webhookId: webhook.id, event: "task.awarded", status: "pending" });
  const delivery = await newestDelivery(bidder, webhook.id, isOver);
  expect(delivery).toMatchObject({ id: answer.body.delivery.id, status: "failed", attempts: [{ statusCode: 500 }] });
  const [request] = receiver.at(path);
  Stripe.webhooks.constructEvent(
    request?.body ?? "",
    String(request?.headers["x-service-signature"]),
    webhook.signingSecret,
  );
  expect(request?.event.data).toMatchObject({ task: { status: "awarded" }, bid: { status: "awarded" } });
  expect(receiver.received.filter(({ event }) => event.id === delivery.eventId)).toHaveLength(1);
});

test("a test's sample has the same fields as a real event of its type", async () => {
  const fieldsOf = {
    "task.created": ["task"],
    "bid.received": ["task", "bid"],
    "task.awarded": ["task", "bid"],
    "delivery.posted": ["task", "bid"],
    "task.accepted": ["task", "bid"],
    "task.disputed": ["task", "bid", "dispute"],
    "task.dispute_resolved": ["task", "bid", "dispute"],
  };
  const person = await createPerson(service);
  const at = path;
  for (const [type, fields] of Object.entries(fieldsOf)) {
    const webhook = await register(person, [type]);
    await person.post(`/webhooks/${webhook.id}/test`);
    const [request] = await eventually(type, () => {
      const arrived = receiver.at(at).filter(({ event }) => event.type === type);
      return arrived.length === 1 && arrived;
    });
    expect(Object.keys(request?.event.data)).toEqual(fields);
  }
});

test("a deleted endpoint gets nothing more, not even retries that are already due", async () => {
  const webhook = await register(bidder, ["task.created"], () => 503);
  await postTask(buyer);
  const { id } = await newestDelivery(bidder, webhook.id, hasAttempts(1));
  expect((await bidder.delete(`/webhooks/${webhook.id}`)).status).toBe(204);
  service.clock.advance(40);
  const witnessPath = `${path}/witness`;
  const gone = path;
  path = witnessPath;
  const witness = await register(bidder, ["task.created"]);
  await postTask(buyer);
  await newestDelivery(bidder, witness.id, isOver);
  expect(receiver.at(gone)).toHaveLength(1);
  expect((await bidder.get(`/webhooks/${webhook.id}/deliveries`)).status).toBe(404);
  expect((await bidder.post(`/webhooks/deliveries/${id}/replay`)).status).toBe(404);
  expect((await bidder.post(`/webhooks/${webhook.id}/test`)).status).toBe(404);
});

test("a suspended owner's endpoint gets nothing: a pending delivery fails when it is due, and is replayed only after the suspension has ended", async () => {
  const { database, clock } = service.services;
  const person = await createPerson(service);
  const webhook = await register(person, ["task.created"], (_request, count) => (count === 1 ? 503 : 200));
  await postTask(buyer);
  const { id, createdAt: since } = await newestDelivery(person, webhook.id, hasAttempts(1));
  await database.query(sql`UPDATE users SET suspended_at = now() WHERE id = ${person.id}::uuid`);
  service.clock.advance(40);
  await eventually("the end of its delivery", async () =>
    isOver(await database.prisma.webhookDelivery.findUniqueOrThrow({ where: { id } })),
  );
  expect(await replayDelivery(database, id, clock.now())).toBe(false);
  expect(await replayFailed(database, { since, endpointId: webhook.id, now: clock.now() })).toBe(0);

  await database.query(sql`UPDATE users SET suspended_at = NULL WHERE id = ${person.id}::uuid`);
  expect(await newestDelivery(person, webhook.id, isOver)).toMatchObject({ id, status: "failed" });
  expect(receiver.at(path)).toHaveLength(1);
  expect((await person.post(`/webhooks/deliveries/${id}/replay`)).status).toBe(202);
  expect((await newestDelivery(person, webhook.id, hasAttempts(2))).status).toBe("succeeded");
});

test("a walk over deliveries by cursor misses none and repeats none, and filters by event and status", async () => {
  const person = await createPerson(service, { cents: 1_000_000 });
  const webhook = await register(person, ["task.created", "bid.received"], (request) =>
    request.event.type === "bid.received" ? 400 : 200,
  );
  const tasks = await Promise.all(Array.from({ length: 8 }, () => postTask(person, { maxBudgetCents: 1_000 })));
  await Promise.all(tasks.slice(0, 5).map(({ id }) => placeBid(bidder, id, { priceCents: 900 })));
  await eventually("all deliveries", async () => {
    const deliveries = await deliveriesOf(person, webhook.id);
    return deliveries.length === 13 && deliveries.every(isOver);
  });
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const answer = await person.get(`/webhooks/${webhook.id}/deliveries?limit=3${cursor ? `&cursor=${cursor}` : ""}`);
    seen.push(...answer.body.deliveries.map(({ id }: { id: string }) => id));
    cursor = answer.body.nextCursor;
  } while (cursor !== null);
  expect(seen).toHaveLength(13);
  expect(new Set(seen).size).toBe(13);
  expect(await deliveriesOf(person, webhook.id, "?event=bid.received")).toHaveLength(5);
  expect(await deliveriesOf(person, webhook.id, "?status=succeeded")).toHaveLength(8);
  expect(await deliveriesOf(person, webhook.id, "?status=succeeded&event=bid.received")).toHaveLength(0);
  expect((await person.get(`/webhooks/${webhook.id}/deliveries?status=lost`)).status).toBe(400);
});
