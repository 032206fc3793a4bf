import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask } from "../factories/tasks.ts";
import { openTopup, paidTopup, topupStatus } from "../factories/topups.ts";
import { connect } from "../mcp/client.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest, rpc } from "../setup/client.ts";
import { eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";
import { type Receiver, startReceiver } from "../webhooks/receiver.ts";

const HOUR_MS = 3_600_000;
const service = useService({
  worker: true,
  testClock: true,
  settings: { webhookAllowInsecure: true, trustLocalhost: false },
});
let buyer: TestPerson;
let bidder: TestPerson;
let receiver: Receiver;

/** A person with money that was really paid in, because the clock also runs the nightly audit, which looks for it. */
async function funded(): Promise<TestPerson> {
  const person = await createPerson(service);
  await payIn(person);
  return person;
}

async function payIn(person: TestPerson): Promise<void> {
  const topup = await paidTopup(service, person, 100_000);
  await eventually(
    () => topupStatus(service, topup),
    (status) => status === "paid",
  );
}

beforeAll(async () => {
  receiver = await startReceiver(() => 503);
  buyer = await funded();
  bidder = await createPerson(service);
});
afterAll(() => receiver.stop());

const advance = (duration: unknown, headers = {}) =>
  rest(service.url, "POST", "/test/clock", { body: { advance: duration }, headers });
const clockNow = async () => (await rest(service.url, "GET", "/test/clock")).body.clock;

/** Moves the clock, and expects that everything that fell due was done. */
async function advanceBy(duration: string) {
  const answer = await advance(duration);
  expect(answer.body).toMatchObject({ settled: true, due: [] });
  expect(answer.status).toBe(200);
  return answer.body;
}

const readTask = async (id: string) => (await buyer.get(`/tasks/${id}`)).body.task;

test("a delivery is accepted and paid at its deadline, and not before", async () => {
  const { task } = await deliveredTask(buyer, bidder, { priceCents: 8_000 });
  const earned = (await bidder.get("/wallet")).body.availableCents;
  const { events } = await advanceBy("47h");
  expect(events).toEqual([]);
  expect((await readTask(task.id)).status).toBe("delivered");

  const result = await advanceBy("2h");
  expect(result.events).toEqual([{ type: "task.accepted", count: 1 }]);
  const accepted = await readTask(task.id);
  expect(accepted.status).toBe("accepted");
  expect(accepted.acceptedAt).toBe(accepted.acceptanceDeadlineAt);
  expect((await bidder.get("/wallet")).body.availableCents - earned).toBe(8_000);
  // The clock stopped at the deadline on its way: everything about the payment is dated there, not an hour later.
  const [entry] = (await bidder.get("/wallet/ledger?limit=1")).body.entries;
  const [event] = (await bidder.get("/events?after=&types=task.accepted")).body.events.slice(-1);
  for (const at of [entry.createdAt, event.createdAt, accepted.updatedAt]) {
    expect(Date.parse(at) - Date.parse(accepted.acceptanceDeadlineAt)).toBeGreaterThanOrEqual(0);
    expect(Date.parse(at) - Date.parse(accepted.acceptanceDeadlineAt)).toBeLessThan(HOUR_MS / 2);
  }
  await expectBooksToBalance(service);
});

test("a task that is not delivered expires after its grace period, and the money returns", async () => {
  const before = (await buyer.get("/wallet")).body;
  const { task } = await awardedTask(buyer, bidder); // due in 24 hours
  await advanceBy("1w12h");
  expect((await readTask(task.id)).status).toBe("awarded");
  const { events, scheduledJobs } = await advanceBy("13h");
  expect(events).toEqual([{ type: "task.expired", count: 1 }]);
  expect((await readTask(task.id)).status).toBe("expired");
  expect((await buyer.get("/wallet")).body).toEqual(before);
  expect(scheduledJobs).toContain("pruneEvents");
});

test("a webhook's retries are made one after the other, at their times; their signatures go by real time", async () => {
  const poster = await funded();
  const webhook = await poster.post("/webhooks", { url: `${receiver.url}/hook`, events: ["bid.received"] });
  const task = await postTask(poster);
  await placeBid(bidder, task.id);
  const result = await advanceBy("8h");
  expect(result.webhookAttempts).toBeGreaterThanOrEqual(5);

  const { deliveries } = (await poster.get(`/webhooks/${webhook.body.id}/deliveries`)).body;
  expect(deliveries).toHaveLength(1);
  expect(deliveries[0].status).toBe("failed");
  const times: number[] = deliveries[0].attempts.map(({ attemptedAt }: { attemptedAt: string }) =>
    Date.parse(attemptedAt),
  );
  times.sort((a, b) => a - b);
  const pauses = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000);
  const schedule = [30, 120, 600, 3_600, 21_600];
  expect(pauses).toHaveLength(schedule.length);
  for (const [index, seconds] of schedule.entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(seconds * 0.9);
    expect(pauses[index]).toBeLessThan(seconds * 1.1 + 30);
  }
  for (const { headers } of receiver.at("/hook")) {
    const signedAt = Number(/^t=(\d+)/.exec(String(headers["x-service-signature"]))?.[1]);
    expect(Math.abs(signedAt - Date.now() / 1000)).toBeLessThan(120);
  }
  await poster.delete(`/webhooks/${webhook.body.id}`);
});

test("a checkout page that nobody pays expires, at the processor and here", async () => {
  const topup = await openTopup(service, buyer);
  await advanceBy("23h");
  expect(await topupStatus(service, topup)).toBe("created");
  await advanceBy("2h");
  expect(await topupStatus(service, topup)).toBe("expired");
});

test("two calls at once move the clock one after the other, and requests go on meanwhile", async () => {
  const before = (await clockNow()).aheadSeconds;
  let isOver = false;
  const requests = (async () => {
    const times: string[] = [];
    while (!isOver) {
      const answer = await buyer.post("/tasks", {
        title: "Busy",
        description: "Meanwhile.",
        maxBudgetCents: 1,
        tags: [],
      });
      expect(answer.status).toBe(201);
      times.push(answer.body.task.createdAt);
      // Without a pause, something would be due at every moment, and the clock would wait for it as long as it may.
      await sleep(50);
    }
    return times;
  })();
  const answers = await Promise.all([advance("90m"), advance("30m")]);
  isOver = true;
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect((await clockNow()).aheadSeconds - before).toBeCloseTo(7_200, 0);
  const times = await requests;
  expect(times.length).toBeGreaterThan(2);
  expect(times).toEqual(times.toSorted());
});

describe("what it refuses, without moving", () => {
  test.each(["", "0h", "0s", "-1h", "49", "49 h", "1.5h", "1h1d", "h", "2000w", 49, null, "9999999999h", "P2D"])(
    "%j",
    async (duration) => {
      const before = (await clockNow()).aheadSeconds;
      const answer = await advance(duration);
      expect([answer.status, answer.body.error]).toEqual([400, "invalid_input"]);
      expect(answer.body.issues[0].path).toBe("advance");
      expect((await clockNow()).aheadSeconds).toBeCloseTo(before, 0);
    },
  );

  test.each([
    { origin: "https://elsewhere.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    // A name that was made to lead to this machine.
    { origin: "http://rebound.example", host: "rebound.example" },
  ])("a page of another site: %j", async (headers) => {
    const answer = await advance("1h", headers);
    expect([answer.status, answer.body.error]).toEqual([403, "forbidden"]);
  });
});

test("typed RPC has both, and the document of such a service describes them", async () => {
  const client = rpc(service.url);
  const { clock } = await client.test.clock.query({});
  const { clock: later } = await client.test.advanceClock.mutate({ advance: "1m" });
  expect(later.aheadSeconds - clock.aheadSeconds).toBeCloseTo(60, 0);
  const document = (await rest(service.url, "GET", "/openapi.json")).body;
  expect(Object.keys(document.paths["/test/clock"])).toEqual(["get", "post"]);
});

test("sessions, keys and kept answers end when their time is over", async () => {
  const person = await funded();
  const expiresAt = new Date(Date.parse((await clockNow()).now) + 2 * HOUR_MS).toISOString();
  const session = { credentials: person.session };
  const key = await rest(service.url, "POST", "/keys", { body: { label: "short", scopes: [], expiresAt }, ...session });
  expect(key.status).toBe(201);
  const withKey = () =>
    rest(service.url, "GET", "/auth/me", { credentials: { authorization: `Bearer ${key.body.raw}` } });
  const post = () =>
    rest(service.url, "POST", "/tasks", {
      body: { title: "Once", description: "Only once.", maxBudgetCents: 100, tags: [] },
      credentials: person.key,
      headers: { "idempotency-key": "the-same" },
    });
  const first = await post();
  expect((await post()).body).toEqual(first.body);
  expect((await withKey()).status).toBe(200);
  await advanceBy("3h");
  expect((await withKey()).status).toBe(401);
  await advanceBy("22h");
  expect((await post()).body.task.id).not.toBe(first.body.task.id);
  expect((await rest(service.url, "GET", "/wallet", session)).status).toBe(200);
  await advanceBy("15d");
  expect((await rest(service.url, "GET", "/wallet", session)).status).toBe(401);
});

test("the token of an MCP preview ends with the service's time, so it cannot outlive the answer that a repeat gets", async () => {
  const agent = await connect(service.url, (await funded()).key);
  const task = { title: "Once", description: "Only once.", maxBudgetCents: 100, tags: ["mcp"] };
  const { preview } = (await agent.call("post_task", task)).data;
  const confirmed = () => agent.call("post_task", { ...task, confirm: preview.confirm });
  expect((await confirmed()).data.task.id).toEqual(expect.any(String));
  await advanceBy("25h");
  const { error } = await confirmed();
  expect(error).toMatchObject({ error: "invalid_input", issues: [{ path: "confirm" }] });
});

test.each([
  { bank: "pays", ending: "paid", left: 60_000 },
  { bank: "fails", ending: "failed", left: 100_000 },
])("a payout under way is $ending at the end of a jump, once, if the bank $bank", async ({ bank, ending, left }) => {
  const payee = await createPayee(service, { cents: 0, platformCents: 0, bank });
  await payIn(payee);
  await requestPayout(payee, 40_000);
  await advanceBy("4d");
  expect((await payee.get("/payouts")).body.payouts).toMatchObject([{ amountCents: 40_000, status: ending }]);
  expect((await payee.get("/wallet")).body.availableCents).toBe(left);
  const { events } = (await payee.get("/events?after=&types=payout.updated&limit=100")).body;
  const statuses = events.map(({ data }: { data: { payout: { status: string } } }) => data.payout.status);
  expect(statuses.filter((status: string) => status === ending)).toHaveLength(1);
  await expectBooksToBalance(service);
});
