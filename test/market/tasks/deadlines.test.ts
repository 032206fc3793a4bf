import { beforeAll, expect, test } from "vitest";
import { sweepOnce } from "../../../server/jobs/sweeps.ts";
import { startWorker } from "../../../server/jobs/worker.ts";
import { reputationDifferences } from "../../../server/market/reputation.ts";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import { sql } from "../../../server/store/connection.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { awardedTask, deliveredTask, upload } from "../../factories/tasks.ts";
import { clockOf } from "../../setup/testClock.ts";
import { useService } from "../../setup/testService.ts";

const ETA_SECONDS = 24 * 3_600; // what the factory bids
const GRACE_SECONDS = 604_800;
const WINDOW_SECONDS = 172_800;

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
});

const statusOf = async (taskId: string) => (await buyer.get(`/tasks/${taskId}`)).body.task.status;
const heldCents = async () => (await buyer.get("/wallet")).body.heldCents;
const eventsOf = (taskId: string, type: string) =>
  service.services.database.query<{ recipients: string[] | null }>(sql`
    SELECT recipients FROM events WHERE task_id = ${taskId}::uuid AND type = ${type}`);

/** The services with a clock that is this many seconds ahead, for jobs only. */
const inFuture = (seconds: number) => ({
  ...service.services,
  clock: clockOf(() => new Date(service.clock.now().getTime() + seconds * 1000)),
});

test("an awarded task without a delivery expires after the grace period: the hold returns, once, and the event is recorded", async () => {
  const held = await heldCents();
  const { task, bid } = await awardedTask(buyer, bidder, { priceCents: 3_000 });
  await sweepOnce(inFuture(ETA_SECONDS + GRACE_SECONDS - 10));
  await expireTask(inFuture(ETA_SECONDS + GRACE_SECONDS - 10), { taskId: task.id });
  expect(await statusOf(task.id)).toBe("awarded");
  expect(await heldCents()).toBe(held + 3_000);

  const later = inFuture(ETA_SECONDS + GRACE_SECONDS + 10);
  await Promise.all([sweepOnce(later), sweepOnce(later), expireTask(later, { taskId: task.id })]);
  const expired = (await buyer.get(`/tasks/${task.id}`)).body.task;
  expect(expired.status).toBe("expired");
  expect(Date.parse(expired.closedAt)).toBe(Date.parse(expired.deliveryDueAt) + GRACE_SECONDS * 1000);
  expect(await heldCents()).toBe(held);
  expect(await eventsOf(task.id, "task.expired")).toEqual([{ recipients: [buyer.id, bidder.id] }]);
  const late = await bidder.post(`/bids/${bid.id}/delivery/init`, { mimeType: "text/plain", bytes: 5 });
  expect([late.status, late.body.error]).toEqual([409, "wrong_status"]);
  expect((await bidder.get(`/users/${bidder.id}/reputation`)).body.bidder).toMatchObject({
    tasksExpired: 1,
    onTimeRate: 0,
  });
});

test("a delivery after the grace period is refused, even before a sweep has run", async () => {
  const { task, bid } = await awardedTask(buyer, bidder);
  const storageKey = await upload(bidder, bid.id, "delivery");
  service.clock.advance(ETA_SECONDS + GRACE_SECONDS + 1);
  for (const [path, body] of [
    ["delivery/finalize", { storageKey }],
    ["delivery/init", { mimeType: "text/plain", bytes: 5 }],
    ["sample/init", { mimeType: "text/plain", bytes: 5 }],
  ] as const) {
    const answer = await bidder.post(`/bids/${bid.id}/${path}`, body);
    expect([path, answer.status, answer.body.error]).toEqual([path, 409, "wrong_status"]);
  }
  expect(await statusOf(task.id)).toBe("awarded");
  await sweepOnce(service.services);
  expect(await statusOf(task.id)).toBe("expired");
});

test("a late delivery within the grace period counts, but not as on time", async () => {
  const worker = await createPerson(service);
  const { task, bid } = await awardedTask(buyer, worker);
  const storageKey = await upload(worker, bid.id, "delivery");
  service.clock.advance(ETA_SECONDS + 60);
  expect((await worker.post(`/bids/${bid.id}/delivery/finalize`, { storageKey })).status).toBe(201);
  await sweepOnce(inFuture(GRACE_SECONDS));
  expect(await statusOf(task.id)).toBe("accepted");
  expect((await worker.get(`/users/${worker.id}/reputation`)).body.bidder).toMatchObject({
    tasksDelivered: 1,
    tasksAccepted: 1,
    onTimeRate: 0,
  });
});

test("a delivery that races the expiry ends in one state, with the money where that state says", async () => {
  for (let round = 0; round < 10; round++) {
    const held = await heldCents();
    const { task, bid } = await awardedTask(buyer, bidder, { priceCents: 4_000 });
    const storageKey = await upload(bidder, bid.id, "delivery");
    const [delivery] = await Promise.all([
      bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey }),
      expireTask(inFuture(ETA_SECONDS + GRACE_SECONDS + 1), { taskId: task.id }),
    ]);
    const status = await statusOf(task.id);
    expect([status, delivery.status]).toEqual(status === "delivered" ? ["delivered", 201] : ["expired", 409]);
    expect(await heldCents()).toBe(status === "delivered" ? held + 4_000 : held);
  }
});

test("deadlines that passed while nothing ran are acted on when workers start, and only once", async () => {
  const { task: forgotten } = await awardedTask(buyer, bidder);
  const { task: waiting } = await deliveredTask(buyer, bidder);
  await service.services.database.query(
    sql`SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker._private_jobs`,
  );
  service.clock.advance(ETA_SECONDS + GRACE_SECONDS + WINDOW_SECONDS);
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(service.services, { concurrency: 2 })));
  try {
    await expect.poll(() => statusOf(forgotten.id)).toBe("expired");
    await expect.poll(() => statusOf(waiting.id)).toBe("accepted");
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
  expect(await eventsOf(forgotten.id, "task.expired")).toHaveLength(1);
  expect(await eventsOf(waiting.id, "task.accepted")).toHaveLength(1);
  expect(await service.services.database.query(reputationDifferences)).toEqual([]);
});
