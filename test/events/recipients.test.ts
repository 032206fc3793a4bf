import { beforeAll, expect, test } from "vitest";
import { expireTask } from "../../server/market/tasks/expireTask.ts";
import { type LogEventType, logEventTypes } from "../../server/schemas/event.ts";
import { sql } from "../../server/store/connection.ts";
import { askedIn, createAgent } from "../approvals/agents.ts";
import { awardedWithChecks, deliverJudged, sizeCheck } from "../factories/checks.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import {
  awardedTask,
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
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";

const service = useService();
const roles = ["buyer", "winner", "loser", "moderator", "stranger"] as const;
type Role = (typeof roles)[number];
let people: Record<Role, TestPerson>;
/** The types of a story's events, by who sees them. */
const seen = new Map<LogEventType, Set<Role>>();

/** Whom each type concerns; `topup.…` and `payout.updated` have tests where their stories are. */
const recipientsOf: Partial<Record<LogEventType, Role[]>> = {
  "task.created": [...roles],
  "bid.received": ["buyer"],
  "bid.updated": ["buyer", "loser"],
  "bid.withdrawn": ["buyer", "loser"],
  "bid.rejected": ["loser"],
  "task.updated": ["buyer", "winner", "loser"],
  "task.cancelled": ["buyer", "loser"],
  "task.awarded": ["buyer", "winner"],
  "sample.posted": ["buyer", "winner"],
  "delivery.posted": ["buyer", "winner"],
  "delivery.checked": ["buyer", "winner"],
  "task.accepted": ["buyer", "winner"],
  "task.expired": ["buyer", "winner"],
  "agreement.proposed": ["buyer", "winner"],
  "agreement.ended": ["buyer", "winner"],
  "task.settled": ["buyer", "winner"],
  "task.changes_requested": ["buyer", "winner"],
  "task.changes_declined": ["buyer", "winner"],
  "task.disputed": ["buyer", "winner"],
  "task.dispute_resolved": ["buyer", "winner"],
  "rating.posted": ["buyer", "winner"],
  "message.posted": ["buyer", "winner"],
  "question.asked": ["buyer"],
  "question.answered": ["winner", "loser", "stranger"],
  "topup.credited": ["buyer"],
  "topup.reversed": ["buyer"],
  "payout.updated": ["winner"],
  "export.ready": ["winner"],
  "approval.requested": ["buyer"],
  "approval.decided": ["buyer"],
  "key.created": ["buyer", "winner"],
  "password.changed": ["winner"],
  "account.suspended": ["loser"],
};

beforeAll(async () => {
  const [buyer, winner, loser, stranger] = await Promise.all(
    [{ cents: 1_000_000 }, {}, {}, {}].map((options) => createPerson(service, options)),
  );
  if (!buyer || !winner || !loser || !stranger) throw new Error("nobody is there");
  people = { buyer, winner, loser, stranger, moderator: await createModerator(service) };
});

async function readAll(person: TestPerson): Promise<{ id: string; type: LogEventType; data: object }[]> {
  const events = [];
  for (let after = ""; ; ) {
    const { body } = await person.get(`/events?after=${after}&limit=20`);
    events.push(...body.events);
    if (body.events.length < 20) return events;
    after = body.nextCursor;
  }
}

test("every type is in the logs of those whom it concerns, and in no other; webhooks are not asked for those they do not have", async () => {
  const { buyer, winner, loser, stranger, moderator } = people;
  const task = await postTask(buyer);
  const [winning, losing] = [await placeBid(winner, task.id), await placeBid(loser, task.id)];
  await buyer.patch(`/tasks/${task.id}`, { description: "Another one." });
  await loser.patch(`/bids/${losing.id}`, { priceCents: 7_000 });
  await buyer.post(`/bids/${winning.id}/messages`, { text: "Hello." });
  await winner.post(`/bids/${winning.id}/messages`, { text: "Hello." });
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
  const { bid: checked } = await awardedWithChecks(buyer, winner, { checks: [sizeCheck] });
  await deliverJudged(service.services, winner, checked.id);
  const { task: late } = await awardedTask(buyer, winner);
  const clock = clockOf(() => new Date(Date.now() + 60 * 86_400_000));
  await expireTask({ ...service.services, clock }, { taskId: late.id });

  await winner.post("/keys", { label: "another", scopes: [] });
  const agent = await createAgent(service, buyer, 0);
  const { id: approvalId } = askedIn(await agent.post("/tasks", taskInput()));
  await buyer.post(`/approvals/${approvalId}/decline`, { reason: "No." });
  const topup = { id: late.id, sessionId: "cs_1", amountCents: 5_000, createdAt: late.createdAt };
  const payout = {
    ...{ id: late.id, amountCents: 5_000, status: "pending" as const, pendingLedgerId: late.id, failureMessage: null },
    ...{ createdAt: late.createdAt, updatedAt: late.createdAt },
  };
  const file = {
    ...{ id: late.id, kind: "ledger" as const, format: "csv" as const, status: "ready" as const, bytes: 1 },
    ...{ fileName: "ledger.csv", createdAt: late.createdAt, expiresAt: late.createdAt },
  };
  await service.services.database.transaction(async (tx) => {
    tx.events.record("export.ready", { export: file }, [winner.id]);
    tx.events.record("topup.credited", { topup }, [buyer.id]);
    tx.events.record("topup.reversed", { topup, reversal: { kind: "chargeback", amountCents: -1 } }, [buyer.id]);
    tx.events.record("payout.updated", { payout }, [winner.id]);
    tx.events.record("password.changed", { user: winner }, [winner.id]);
    tx.events.record("account.suspended", { user: loser }, [loser.id]);
  });

  for (const role of roles) {
    for (const { type } of await readAll(people[role])) seen.set(type, (seen.get(type) ?? new Set()).add(role));
  }
  const table = Object.fromEntries([...seen].map(([type, by]) => [type, roles.filter((role) => by.has(role))]));
  expect(table).toEqual(recipientsOf);
  expect(Object.keys(recipientsOf).toSorted()).toEqual(logEventTypes.toSorted());

  const unsent = await service.services.database.query<{ type: string }>(sql`
    SELECT DISTINCT type FROM events WHERE fanned_out_at IS NULL`);
  expect(unsent.map(({ type }) => type).toSorted()).toEqual([
    "bid.received",
    "delivery.posted",
    "task.accepted",
    "task.awarded",
    "task.created",
    "task.dispute_resolved",
    "task.disputed",
  ]);
  const subscribed = await buyer.post("/webhooks", { url: "https://93.184.215.14/hook", events: ["task.updated"] });
  expect([subscribed.status, subscribed.body.error]).toEqual([400, "invalid_input"]);
});

test("`types` selects, and a page without any of them still moves on", async () => {
  const { loser } = people;
  const { body } = await loser.get("/events?types=bid.rejected,bid.withdrawn");
  expect(body.events.map(({ type }: { type: string }) => type)).toEqual([
    "bid.rejected",
    "bid.withdrawn",
    "bid.rejected",
  ]);
  const none = (await loser.get("/events?types=payout.updated")).body;
  expect(none.events).toEqual([]);
  expect((await loser.get(`/events?after=${none.nextCursor}`)).body.events).toEqual([]);
});
