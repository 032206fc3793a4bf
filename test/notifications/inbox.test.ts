import { beforeAll, expect, test } from "vitest";
import { pruneEvents } from "../../server/events/prune.ts";
import { expireTask } from "../../server/market/tasks/expireTask.ts";
import { tellNext } from "../../server/notifications/follow.ts";
import { told } from "../../server/notifications/told.ts";
import { type LogEventType, logEventTypes } from "../../server/schemas/event.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { awardedWithChecks, deliverJudged, sizeCheck } from "../factories/checks.ts";
import { createModerator } from "../factories/moderators.ts";
import { inboxOf, tellAll, toldOnce } from "../factories/notifications.ts";
import { createPerson, fund, type TestPerson } from "../factories/people.ts";
import {
  awardedTask,
  changesReason,
  deliver,
  deliveredTask,
  disputedTask,
  disputeReason,
  placeBid,
  postTask,
  propose,
  taskInput,
  taskInRound,
  upload,
} from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const inDays = (days: number) => ({
  ...service.services,
  clock: clockOf(() => new Date(Date.now() + days * 86_400_000)),
});

type Role = "buyer" | "winner" | "loser" | "stranger";
let people: Record<Role, TestPerson>;

beforeAll(async () => {
  const [buyer, winner, loser, stranger] = await Promise.all(
    [{ cents: 1_000_000 }, {}, {}, {}].map((options) => createPerson(service, options)),
  );
  if (!buyer || !winner || !loser || !stranger) throw new Error("nobody is there");
  people = { buyer, winner, loser, stranger };
});

const typesOf = async (person: TestPerson) => {
  await tellAll(service);
  return (await inboxOf(person)).map(({ type }) => type);
};

/** Everything that can happen, done in sessions. */
async function story({ buyer, winner, loser, stranger }: Record<Role, TestPerson>): Promise<void> {
  const moderator = await createModerator(service);
  const task = await postTask(buyer);
  const [winning, losing] = [await placeBid(winner, task.id), await placeBid(loser, task.id)];
  await buyer.patch(`/tasks/${task.id}`, { description: "Another one." });
  await loser.patch(`/bids/${losing.id}`, { priceCents: 7_000 });
  await buyer.post(`/bids/${winning.id}/messages`, { text: "Hello." });
  const { question } = (await stranger.post(`/tasks/${task.id}/questions`, { text: "How many words?" })).body;
  await buyer.post(`/questions/${question.id}/answer`, { text: "Five hundred." });
  await buyer.post(`/tasks/${task.id}/award`, { bidId: winning.id });
  const storageKey = await upload(winner, winning.id, "sample");
  await winner.post(`/bids/${winning.id}/sample/finalize`, { storageKey });
  const cancelled = await postTask(buyer);
  const withdrawn = await placeBid(loser, cancelled.id);
  await loser.post(`/bids/${withdrawn.id}/withdraw`);
  await placeBid(loser, cancelled.id);
  await buyer.post(`/tasks/${cancelled.id}/cancel`);
  const { task: delivered } = await deliveredTask(buyer, winner);
  await buyer.post(`/tasks/${delivered.id}/accept`);
  await buyer.post(`/tasks/${delivered.id}/rate`, { stars: 5 });
  const { dispute } = await disputedTask(buyer, winner);
  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" });
  const { task: changed } = await taskInRound(buyer, winner);
  await winner.post(`/tasks/${changed.id}/decline-changes`, { reason: disputeReason });
  const { id: settlementId } = await propose(winner, changed.id, { kind: "settle", bidderCents: 1 });
  await buyer.post(`/agreements/${settlementId}/accept`);
  const { bid: prolonged } = await awardedTask(buyer, winner);
  const later = new Date(Date.now() + 20 * 86_400_000).toISOString();
  const { id: extensionId } = await propose(winner, prolonged.taskId, { kind: "extend", deliveryDueAt: later });
  await buyer.post(`/agreements/${extensionId}/accept`);
  const { bid: checked } = await awardedWithChecks(buyer, winner, { checks: [sizeCheck] });
  await deliverJudged(service.services, winner, checked.id);
  const { task: late } = await awardedTask(buyer, winner);
  await expireTask(inDays(60), { taskId: late.id });
  const { raw } = (await loser.post("/keys", { label: "another", scopes: ["task:write"], approval: { aboveCents: 0 } }))
    .body;
  await fund(service, loser.id, 10_000);
  const credentials = { authorization: `Bearer ${raw}` };
  const asking = await rest(service.url, "POST", "/tasks", { body: taskInput(), credentials });
  const { id: approvalId } = asking.body.approval;
  const { version } = (await loser.get(`/approvals/${approvalId}`)).body.approval;
  await loser.post(`/approvals/${approvalId}/approve`, { seen: version });
  await loser.post("/auth/password", { currentPassword: loser.password, newPassword: "another long password" });
  const topup = { id: late.id, sessionId: "cs_1", amountCents: 5_000, createdAt: late.createdAt };
  const payout = {
    ...{ id: late.id, amountCents: 5_000, pendingLedgerId: late.id, failureMessage: null },
    ...{ createdAt: late.createdAt, updatedAt: late.createdAt },
  };
  const file = {
    ...{ id: late.id, kind: "ledger" as const, format: "csv" as const, status: "ready" as const, bytes: 1 },
    ...{ fileName: "ledger.csv", createdAt: late.createdAt, expiresAt: late.createdAt },
  };
  const { database } = service.services;
  const record = database.transaction.bind(database);
  await record(async (tx) => tx.events.record("export.ready", { export: file }, [loser.id]));
  await record(async (tx) => tx.events.record("topup.credited", { topup }, [buyer.id]));
  const reversal = { kind: "chargeback" as const, amountCents: -1 };
  await record(async (tx) => tx.events.record("topup.reversed", { topup, reversal }, [buyer.id]));
  for (const status of ["pending", "in_transit", "paid"] as const) {
    await record(async (tx) => tx.events.record("payout.updated", { payout: { ...payout, status } }, [winner.id]));
  }
  await record(async (tx) => tx.events.record("account.suspended", { user: stranger }, [stranger.id]));
}

test("each type is told to those whom the contract names, once an act, and to nobody of what they did in a session", async () => {
  await story(people);
  await tellAll(service);
  const got: Partial<Record<LogEventType, Partial<Record<Role, number>>>> = {};
  for (const [role, person] of Object.entries(people) as [Role, TestPerson][]) {
    for (const { type, title, text, url } of await inboxOf(person)) {
      got[type] = { ...got[type], [role]: (got[type]?.[role] ?? 0) + 1 };
      expect([title.length > 5, text.length > 5, url.startsWith(`${service.url}/app/`)]).toEqual([true, true, true]);
      expect(`${title} ${text}`).not.toMatch(/undefined|NaN|null/);
    }
  }
  const expected: Record<LogEventType, Partial<Record<Role, number>>> = {
    "task.created": { loser: 1 },
    "task.updated": { winner: 1, loser: 1 },
    "task.cancelled": { loser: 1 },
    "task.awarded": { winner: 7 },
    "task.accepted": { winner: 1 },
    "task.changes_requested": { winner: 1 },
    "task.changes_declined": { buyer: 1 },
    "task.disputed": { winner: 1 },
    "task.dispute_resolved": { buyer: 1, winner: 1 },
    "task.expired": { buyer: 1, winner: 1 },
    "task.settled": { winner: 1 },
    "agreement.proposed": { buyer: 2 },
    "agreement.ended": { winner: 1 },
    "bid.received": { buyer: 10 },
    "bid.updated": { buyer: 1 },
    "bid.withdrawn": { buyer: 1 },
    "bid.rejected": { loser: 1 },
    "sample.posted": { buyer: 1 },
    "delivery.checked": { buyer: 1, winner: 1 },
    "delivery.posted": { buyer: 4 },
    "rating.posted": { winner: 1 },
    "question.asked": { buyer: 1 },
    "question.answered": { stranger: 1 },
    "message.posted": { winner: 1 },
    "topup.credited": { buyer: 1 },
    "topup.reversed": { buyer: 1 },
    "payout.updated": { winner: 1 },
    "export.ready": { loser: 1 },
    "approval.requested": { loser: 1 },
    "approval.decided": {},
    "key.created": { loser: 1 },
    "password.changed": { loser: 1 },
    "account.suspended": { stranger: 1 },
  };
  // Its owner is told what the agent did instead.
  const { "approval.decided": _, ...toldOf } = expected;
  expect(got).toEqual(toldOf);
  expect(Object.keys(told).toSorted()).toEqual(logEventTypes.toSorted());
});

test("what one's own key did is told with its label, also where the other side alone is told otherwise", async () => {
  const [buyer, agent] = [
    await createPerson(service, { cents: 50_000, using: "key" }),
    await createPerson(service, { using: "key" }),
  ];
  const { bid } = await deliveredTask(buyer, agent);
  await tellAll(service);
  const [mine, theirs] = [await inboxOf(agent), await inboxOf(buyer)];
  expect(mine.map(({ type }) => type)).toEqual(["delivery.posted", "task.awarded", "bid.received"]);
  expect(mine[0]?.title).toMatch(/^Your agent “.+” delivered “Translate page/);
  expect(mine[2]?.title).toMatch(/^Your agent “.+” bid \$80.00 on “Translate page/);
  expect(mine.map(({ needsAction }) => needsAction)).toEqual([false, false, false]);
  expect(theirs.map(({ type }) => type)).toEqual(["delivery.posted", "task.awarded", "bid.received", "task.created"]);
  expect(theirs[0]?.title).toMatch(/^“Translate page .*” was delivered$/);
  expect(theirs[1]?.title).toMatch(/^Your agent “.+” awarded “Translate page/);
  expect(bid.priceCents).toBe(8_000);
});

test("`needsAction` is as of the moment of reading", async () => {
  const [buyer, bidder] = [await createPerson(service, { cents: 90_000 }), await createPerson(service)];
  const waitingFor = async (person: TestPerson) => {
    await tellAll(service);
    return (await inboxOf(person)).filter(({ needsAction }) => needsAction).map(({ type }) => type);
  };
  const task = await postTask(buyer, { revisions: 1 });
  const { question } = (await bidder.post(`/tasks/${task.id}/questions`, { text: "How many words?" })).body;
  const bid = await placeBid(bidder, task.id);
  const { message } = (await bidder.post(`/bids/${bid.id}/messages`, { text: "Hello." })).body;
  expect(await waitingFor(buyer)).toEqual(["message.posted", "bid.received", "question.asked"]);
  await buyer.post(`/bids/${bid.id}/messages/read`, { upTo: message.id });
  await buyer.post(`/questions/${question.id}/answer`, { text: "Five hundred." });
  expect(await waitingFor(buyer)).toEqual(["bid.received"]);
  await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
  expect([await waitingFor(buyer), await waitingFor(bidder)]).toEqual([[], ["task.awarded"]]);
  await deliver(bidder, bid.id);
  expect([await waitingFor(buyer), await waitingFor(bidder)]).toEqual([["delivery.posted"], []]);
  await buyer.post(`/tasks/${task.id}/request-changes`, { reason: changesReason });
  expect([await waitingFor(buyer), await waitingFor(bidder)]).toEqual([[], ["task.changes_requested"]]);
  await bidder.post(`/tasks/${task.id}/decline-changes`, { reason: disputeReason });
  expect([await waitingFor(buyer), await waitingFor(bidder)]).toEqual([
    ["task.changes_declined", "delivery.posted"],
    [],
  ]);
  const agreement = await propose(bidder, task.id);
  expect(await waitingFor(buyer)).toEqual(["agreement.proposed", "task.changes_declined", "delivery.posted"]);
  await buyer.post(`/agreements/${agreement.id}/accept`);
  expect([await waitingFor(buyer), await waitingFor(bidder)]).toEqual([[], []]);
});

test("an inbox has pages, and is marked as read up to one of its own notifications, forward only", async () => {
  const [person, other] = [await createPerson(service), await createPerson(service)];
  const first = await toldOnce(service, person);
  const second = await toldOnce(service, person);
  const third = await toldOnce(service, person);
  const unreadCount = async () => (await person.get("/auth/me")).body.unreadCount;
  expect(await unreadCount()).toBe(3);
  const page = (await person.get("/notifications?limit=2")).body;
  expect(page.notifications.map(({ id }: { id: string }) => id)).toEqual([third.id, second.id]);
  const rest = (await person.get(`/notifications?limit=2&cursor=${page.nextCursor}`)).body;
  expect(rest).toMatchObject({ notifications: [{ id: first.id, type: "key.created", read: false }], nextCursor: null });
  for (const upTo of [second.id, first.id]) {
    expect((await person.post("/notifications/read", { upTo })).status).toBe(204);
    expect((await inboxOf(person)).map(({ read }) => read)).toEqual([false, true, true]);
  }
  expect((await inboxOf(person, "&unread=true")).map(({ id }) => id)).toEqual([third.id]);
  expect(await inboxOf(person, "&unread=false")).toHaveLength(3);
  expectErrorBody((await person.get("/notifications?unread=1")).body, "invalid_input");
  expect(await unreadCount()).toBe(1);
  for (const upTo of [(await toldOnce(service, other)).id, crypto.randomUUID()]) {
    expectErrorBody((await person.post("/notifications/read", { upTo })).body, "not_found");
  }
});

test("however many follow the log at once, each person is told of an event once, in one order", async () => {
  const buyer = await createPerson(service, { cents: 90_000 });
  const bidders = await Promise.all(Array.from({ length: 4 }, () => createPerson(service)));
  const others = [1, 2, 3].map(() => openDatabase(service.databaseUrl, { poolSize: 2 }));
  let done = false;
  const followers = others.map(async (database) => {
    while (!done) await tellNext({ ...service.services, database });
  });
  const tasks = await Promise.all(Array.from({ length: 4 }, () => postTask(buyer)));
  await Promise.all(tasks.flatMap(({ id }) => bidders.map((bidder) => placeBid(bidder, id))));
  await tellAll(service);
  done = true;
  await Promise.all(followers);
  await Promise.all(others.map(({ close }) => close()));
  await tellAll(service);
  const inbox = await inboxOf(buyer);
  expect(new Set(inbox.map(({ event }) => event)).size).toBe(16);
  expect(inbox).toHaveLength(16);
  const log = (await buyer.get("/events?types=bid.received&limit=100")).body.events.map(({ id }: { id: string }) => id);
  expect(inbox.map(({ event }) => event).toReversed()).toEqual(log);
});

test("notifications are kept as long as the log, and end with the account", async () => {
  const { database } = service.services;
  const person = await createPerson(service);
  await toldOnce(service, person);
  const count = sql`SELECT FROM notification_mails`;
  await database.query(
    sql`INSERT INTO notification_mails (user_id, purpose) VALUES (${people.buyer.id}::uuid, 'news')`,
  );
  await pruneEvents(inDays(29.9));
  expect(await database.query(count)).toHaveLength(1);
  expect(await typesOf(person)).toEqual(["key.created"]);
  expect((await person.delete("/auth/me", { password: person.password })).status).toBe(204);
  const left = sql`SELECT FROM notifications WHERE user_id = ${person.id}::uuid`;
  expect(await database.query(left)).toEqual([]);
  await pruneEvents(inDays(30.1));
  expect(await database.query(sql`SELECT FROM notifications`)).toEqual([]);
  expect(await database.query(count)).toEqual([]);
});
