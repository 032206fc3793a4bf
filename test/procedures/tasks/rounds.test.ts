import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { sweepOnce } from "../../../server/jobs/sweeps.ts";
import { acceptDelivery } from "../../../server/market/tasks/acceptDelivery.ts";
import { endOverdueRound } from "../../../server/market/tasks/endOverdueRound.ts";
import { expireTask } from "../../../server/market/tasks/expireTask.ts";
import { sql } from "../../../server/store/connection.ts";
import { createModerator } from "../../factories/moderators.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import {
  changesReason,
  deliver,
  deliveredTask,
  disputeReason,
  placeBid,
  postTask,
  taskInput,
  taskInRound,
  upload,
} from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { useService } from "../../setup/testService.ts";

const WINDOW_SECONDS = 172_800;
const HOURS = 72; // by default
const DAY_SECONDS = 86_400;

const service = useService();
let buyer: TestPerson;
let bidder: TestPerson;

beforeEach(async () => {
  // Both anew: the clock goes on from test to test, and sessions end.
  buyer = await createPerson(service, { cents: 10_000_000 });
  bidder = await createPerson(service);
});
afterAll(() => expectBooksToBalance(service));

const read = async (taskId: string, by = buyer) => (await by.get(`/tasks/${taskId}`)).body;
const ask = (taskId: string, more: Record<string, unknown> = {}) =>
  buyer.post(`/tasks/${taskId}/request-changes`, { reason: changesReason, ...more });
const decline = (taskId: string) => bidder.post(`/tasks/${taskId}/decline-changes`, { reason: disputeReason });
const codeOf = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const secondsBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;
const earned = async () => (await bidder.get("/wallet")).body.availableCents;
const eventsOf = (taskId: string) =>
  service.services.database.query<{ type: string; data: Record<string, unknown>; recipients: string[] }>(sql`
    SELECT type, data, recipients FROM events
    WHERE task_id = ${taskId}::uuid AND type LIKE 'task.changes%' ORDER BY created_at, id`);

describe("a round of changes", () => {
  test("is awarded again with a due time and no acceptance deadline, and shows both sides, and nobody else, what is asked for", async () => {
    const { task: delivered } = await deliveredTask(buyer, bidder, { revisions: 1 });
    expect(delivered).toMatchObject({ revisions: 1, revisionsUsed: 0, changes: null });
    const { task } = (await ask(delivered.id, { hours: 24 })).body;
    expect(task).toMatchObject({ status: "awarded", revisionsUsed: 1, acceptanceDeadlineAt: null });
    expect(task.deliveredAt).toBe(delivered.deliveredAt);
    expect(task.changes).toEqual({
      ...{ reason: changesReason, round: 1, dueAt: task.deliveryDueAt },
      requestedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    });
    expect(secondsBetween(task.changes.requestedAt, task.deliveryDueAt)).toBe(24 * 3_600);
    for (const party of [buyer, bidder]) expect((await read(task.id, party)).task).toEqual(task);
    const stranger = (await read(task.id, await createPerson(service))).task;
    expect(stranger).toMatchObject({ status: "awarded", revisions: 1, revisionsUsed: 1 });
    expect(stranger).not.toHaveProperty("changes");
    expect(await eventsOf(task.id)).toMatchObject([
      { type: "task.changes_requested", data: { reason: changesReason }, recipients: [buyer.id, bidder.id] },
    ]);
  });

  test("ends with another delivery: the earlier one is kept as superseded, and the buyer has a whole window again", async () => {
    const { task, bid } = await taskInRound(buyer, bidder);
    const second = await deliver(bidder, bid.id);
    const { task: again, deliveries } = await read(task.id);
    expect(again).toMatchObject({ status: "delivered", changes: null, revisionsUsed: 1 });
    expect(secondsBetween(again.deliveredAt, again.acceptanceDeadlineAt)).toBe(WINDOW_SECONDS);
    expect(deliveries).toHaveLength(2);
    expect(deliveries[0]).toMatchObject({ id: second.id, supersededAt: null });
    expect(deliveries[1].supersededAt).not.toBeNull();
    expect((await buyer.post(`/tasks/${task.id}/accept`)).body.task.status).toBe("accepted");
    expect(await earned()).toBe(8_000);
  });

  test("ends when the bidder declines: the delivery stands, with a whole window", async () => {
    const { task } = await taskInRound(buyer, bidder);
    const before = service.clock.now().getTime();
    const { task: stands } = (await decline(task.id)).body;
    expect(stands).toMatchObject({ status: "delivered", changes: null, deliveredAt: task.deliveredAt });
    expect(Date.parse(stands.acceptanceDeadlineAt) - before).toBeGreaterThanOrEqual(WINDOW_SECONDS * 1000);
    expect((await eventsOf(task.id)).at(-1)).toMatchObject({
      type: "task.changes_declined",
      data: { by: "bidder", reason: disputeReason },
    });
    expect(codeOf(await decline(task.id))).toEqual([409, "wrong_status"]);
  });

  test("can be asked for as often as the task has revisions", async () => {
    const { task } = await taskInRound(buyer, bidder, { revisions: 2 });
    await decline(task.id);
    expect((await ask(task.id)).body.task).toMatchObject({
      status: "awarded",
      revisionsUsed: 2,
      changes: { round: 2 },
    });
    await decline(task.id);
    expect(codeOf(await ask(task.id))).toEqual([409, "no_revisions_left"]);
    const { task: without } = await deliveredTask(buyer, bidder);
    expect(codeOf(await ask(without.id))).toEqual([409, "no_revisions_left"]);
  });

  test("leaves nothing to accept or dispute, and an upload that was delivered cannot be delivered again", async () => {
    const { task, bid } = await taskInRound(buyer, bidder);
    for (const action of ["accept", "dispute"]) {
      const body = action === "dispute" ? { reason: disputeReason } : undefined;
      expect(codeOf(await buyer.post(`/tasks/${task.id}/${action}`, body)), action).toEqual([409, "wrong_status"]);
    }
    const storageKey = await upload(bidder, bid.id, "delivery");
    const finalize = () => bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey });
    expect((await finalize()).status).toBe(201);
    expect(codeOf(await finalize())).toEqual([409, "wrong_status"]);
    await ask(task.id);
    const repeated = await finalize();
    expect([...codeOf(repeated), repeated.body.issues[0].path]).toEqual([400, "invalid_input", "storageKey"]);
    expect((await read(task.id)).deliveries).toHaveLength(2);
  });

  test("cannot begin after the window, whether or not the release has run", async () => {
    const { task } = await deliveredTask(buyer, bidder, { revisions: 1 });
    service.clock.advance(WINDOW_SECONDS + 1);
    expect(codeOf(await ask(task.id))).toEqual([409, "wrong_status"]);
  });

  test("takes a reason of 10 to 2,000 characters and 24 to 720 whole hours", async () => {
    const { task } = await deliveredTask(buyer, bidder, { revisions: 1 });
    for (const input of [
      { reason: "too short" },
      { reason: "x".repeat(2_001) },
      { hours: 23 },
      { hours: 721 },
      { hours: 24.5 },
    ])
      expect(codeOf(await ask(task.id, input)), JSON.stringify(input)).toEqual([400, "invalid_input"]);
    expect((await read(task.id)).task).toMatchObject({ status: "delivered", revisionsUsed: 0 });
  });
});

describe("when the bidder is silent until the changes are due", () => {
  test("everything sees the delivery stand again from then on, before and after the sweep, and one event is recorded", async () => {
    const { task } = await taskInRound(buyer, bidder);
    service.clock.advance(HOURS * 3_600 + 60);
    const unswept = await read(task.id);
    expect(unswept.task).toMatchObject({ status: "delivered", changes: null });
    expect(secondsBetween(task.deliveryDueAt, unswept.task.acceptanceDeadlineAt)).toBe(WINDOW_SECONDS);
    expect(unswept.availableActions).toEqual(
      expect.arrayContaining(["tasks.accept", "tasks.dispute", "tasks.requestChanges"]),
    );
    const own = async (status: string) => (await buyer.get(`/me/tasks?status=${status}&limit=1`)).body.tasks[0];
    expect(await own("delivered")).toMatchObject({ id: task.id, status: "delivered" });
    expect((await own("awarded"))?.id).not.toBe(task.id);
    expect(codeOf(await decline(task.id))).toEqual([409, "wrong_status"]);

    await Promise.all([sweepOnce(service.services), sweepOnce(service.services)]);
    await endOverdueRound(service.services, { taskId: task.id });
    const swept = await read(task.id);
    const { updatedAt: _, ...seen } = swept.task;
    expect(unswept.task).toMatchObject(seen);
    expect((await eventsOf(task.id)).map(({ data }) => data.by)).toEqual([undefined, "clock"]);
  });

  test.each([
    ["accepts", "accept", "accepted", 8_000],
    ["disputes", "dispute", "disputed", 0],
  ] as const)("the buyer who %s before the sweep ends the round first", async (_does, action, status, cents) => {
    const { task } = await taskInRound(buyer, bidder);
    service.clock.advance(HOURS * 3_600 + 60);
    await buyer.post(`/tasks/${task.id}/${action}`, action === "dispute" ? { reason: disputeReason } : undefined);
    expect((await read(task.id)).task.status).toBe(status);
    expect(await earned()).toBe(cents);
    expect((await eventsOf(task.id)).at(-1)).toMatchObject({
      type: "task.changes_declined",
      data: { by: "clock", reason: null },
    });
    await sweepOnce(service.services);
    expect(await eventsOf(task.id)).toHaveLength(2);
  });

  test("the buyer may ask again before the sweep, if a revision is left, and each round keeps its own end", async () => {
    const { task } = await taskInRound(buyer, bidder);
    service.clock.advance(HOURS * 3_600 + 60);
    expect((await ask(task.id)).body.task).toMatchObject({ status: "awarded", changes: { round: 2 } });
    await decline(task.id);
    const { dispute } = (await buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason })).body;
    const moderator = await createModerator(service);
    const { rounds, deliveries } = (await moderator.get(`/disputes/${dispute.id}`)).body;
    expect(rounds).toMatchObject([
      { round: 1, reason: changesReason, declinedBy: "clock", declinedReason: null, endedAt: task.deliveryDueAt },
      { round: 2, reason: changesReason, declinedBy: "bidder", declinedReason: disputeReason },
    ]);
    expect(deliveries).toHaveLength(1);
  });

  test("silence to the end pays, at the end of the window that began when the changes were due, however late the sweep", async () => {
    const { task } = await taskInRound(buyer, bidder);
    service.clock.advance(HOURS * 3_600 + WINDOW_SECONDS + DAY_SECONDS);
    expect(codeOf(await buyer.post(`/tasks/${task.id}/accept`))).toEqual([409, "wrong_status"]);
    expect(codeOf(await buyer.post(`/tasks/${task.id}/dispute`, { reason: disputeReason }))).toEqual([
      409,
      "wrong_status",
    ]);
    await acceptDelivery(service.services, { taskId: task.id });
    await Promise.all([sweepOnce(service.services), expireTask(service.services, { taskId: task.id })]);
    const { task: accepted } = await read(task.id);
    expect(accepted.status).toBe("accepted");
    expect(secondsBetween(task.deliveryDueAt, accepted.acceptedAt)).toBe(WINDOW_SECONDS);
    expect(await earned()).toBe(8_000);
  });
});

test("a task with a delivery never expires, not even if our own code tried", async () => {
  const { task } = await taskInRound(buyer, bidder);
  service.clock.advance(12 * DAY_SECONDS);
  await expireTask(service.services, { taskId: task.id });
  expect((await read(task.id)).task.status).toBe("delivered");
  const write = service.services.database.query(sql`UPDATE tasks SET status = 'expired' WHERE id = ${task.id}::uuid`);
  await expect(write).rejects.toMatchObject({ constraint: "tasks_delivered_never_expire" });
});

test("of parallel answers to a request one wins: another delivery, declining, or the clock", async () => {
  for (let round = 0; round < 5; round++) {
    const { task, bid } = await taskInRound(buyer, bidder);
    const storageKey = await upload(bidder, bid.id, "delivery");
    const answers = await Promise.all([
      bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey }),
      decline(task.id),
      decline(task.id),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    const { task: ended, deliveries } = await read(task.id);
    expect(ended.status).toBe("delivered");
    expect(deliveries).toHaveLength(answers[0]?.status === 201 ? 2 : 1);
  }
});

describe("the number of revisions", () => {
  test("is 0 unless the buyer says otherwise, at most 5, and locked while a bid is active", async () => {
    const post = (changes: object) => buyer.post("/tasks", taskInput({ ...changes }));
    expect((await post({})).body.task).toMatchObject({ revisions: 0, revisionsUsed: 0 });
    for (const revisions of [-1, 6, 1.5, "1", null]) expect((await post({ revisions })).status).toBe(400);
    const task = await postTask(buyer, { revisions: 5 });
    const change = (revisions: number) => buyer.patch(`/tasks/${task.id}`, { revisions });
    expect((await change(2)).body.task.revisions).toBe(2);
    const bid = await placeBid(bidder, task.id);
    expect(codeOf(await change(3))).toEqual([400, "revisions_locked_by_bids"]);
    expect((await change(2)).status).toBe(200);
    await bidder.post(`/bids/${bid.id}/withdraw`);
    expect((await change(3)).body.task.revisions).toBe(3);
  });
});

test("reputation: only the first delivery counts, and says whether the bidder was on time", async () => {
  const { task, bid } = await taskInRound(buyer, bidder);
  service.clock.advance(HOURS * 3_600 - 60);
  await deliver(bidder, bid.id);
  await ask(task.id);
  await decline(task.id);
  await buyer.post(`/tasks/${task.id}/accept`);
  expect((await bidder.get(`/users/${bidder.id}/reputation`)).body.bidder).toMatchObject({
    ...{ tasksAwarded: 1, tasksDelivered: 1, tasksAccepted: 1, tasksExpired: 0, onTimeRate: 1 },
  });
});
