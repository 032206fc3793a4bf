/** For every operation that takes an `Idempotency-Key`: a caller and an input with which it succeeds, each time anew. */

import { sql } from "../../server/store/connection.ts";
import { askedIn, createAgent } from "../approvals/agents.ts";
import { browserSubscription } from "../factories/browsers.ts";
import { awardedWithChecks, externalCheck, reportingKey } from "../factories/checks.ts";
import { addBriefFile, askedQuestion, putShared, uploadBriefFile } from "../factories/conversation.ts";
import { createModerator } from "../factories/moderators.ts";
import { toldOnce } from "../factories/notifications.ts";
import { createPayee } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import {
  awardedTask,
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
import type { Input } from "../setup/operations.ts";
import { eventually } from "../setup/processorControl.ts";
import type { TestService } from "../setup/testService.ts";

export const webhookHost = "hooks.example.com";
const webhook = { url: `https://${webhookHost}/`, events: ["task.created"] };

export interface Arranged {
  caller: TestPerson;
  input: Input;
}
type Arrange = (service: TestService) => Promise<Arranged>;

/** A buyer and a bidder, and what `make` builds with them. */
async function between<Made>(
  service: TestService,
  make: (buyer: TestPerson, bidder: TestPerson) => Promise<Made>,
): Promise<{ buyer: TestPerson; bidder: TestPerson; made: Made }> {
  const buyer = await createPerson(service, { cents: 50_000 });
  const bidder = await createPerson(service);
  return { buyer, bidder, made: await make(buyer, bidder) };
}

const openTask = (service: TestService) => between(service, (buyer) => postTask(buyer));
const bidOn = (service: TestService) =>
  between(service, async (buyer, bidder) => placeBid(bidder, (await postTask(buyer)).id));
const awarded = (service: TestService) => between(service, awardedTask);
const delivered = (service: TestService) => between(service, deliveredTask);

async function endpointOf(service: TestService): Promise<{ caller: TestPerson; id: string; deliveryId: string }> {
  const caller = await createPerson(service);
  const { id } = (await caller.post("/webhooks", webhook)).body;
  const { delivery } = (await caller.post(`/webhooks/${id}/test`)).body;
  await service.services.database.query(sql`
    UPDATE webhook_deliveries SET status = 'failed', failed_at = clock_timestamp()
    WHERE id = ${delivery.id}::uuid`);
  return { caller, id, deliveryId: delivery.id };
}

export const arrangements: Record<string, Arrange> = {
  "auth.update": async (service) => ({ caller: await createPerson(service), input: { displayName: "Another name" } }),
  "auth.resendVerification": async (service) => ({ caller: await createPerson(service), input: {} }),
  "auth.endSession": async (service) => {
    const caller = await createPerson(service);
    const { email, password } = caller;
    await rest(service.url, "POST", "/auth/login", { body: { email, password } });
    const { sessions } = (await caller.get("/auth/sessions")).body;
    return { caller, input: { id: sessions.find(({ current }: { current: boolean }) => !current).id } };
  },
  "users.suspend": async (service) => ({
    caller: await createModerator(service),
    input: { id: (await createPerson(service)).id, reason: "Spam." },
  }),
  "users.reinstate": async (service) => {
    const caller = await createModerator(service);
    const { id } = await createPerson(service);
    await caller.post(`/users/${id}/suspend`, { reason: "Spam." });
    return { caller, input: { id, reason: "A mistake." } };
  },
  "keys.create": async (service) => ({
    caller: await createPerson(service),
    input: { label: "agent", scopes: ["task:write"] },
  }),
  "keys.revoke": async (service) => {
    const caller = await createPerson(service);
    return { caller, input: { id: (await caller.get("/keys")).body.keys[0].id } };
  },
  "approvals.decline": async (service) => {
    const caller = await createPerson(service, { cents: 10_000 });
    const agent = await createAgent(service, caller, 0);
    return { caller, input: { id: askedIn(await agent.post("/tasks", taskInput())).id, reason: "Too expensive." } };
  },
  "deliveries.report": async (service) => {
    const { buyer, bidder } = await between(service, async () => null);
    const { id, credentials } = await reportingKey(service, buyer);
    const { bid } = await awardedWithChecks(buyer, bidder, { checks: [externalCheck(id)] });
    const delivery = await deliver(bidder, bid.id);
    // That a key was used is written beside what it does.
    await rest(service.url, "GET", "/wallet", { credentials });
    await eventually(
      async () => (await buyer.get("/keys")).body.keys.find((each: { id: string }) => each.id === id).lastUsedAt,
      (lastUsedAt) => lastUsedAt !== null,
    );
    return {
      caller: { ...buyer, session: credentials, key: credentials },
      input: { id: delivery.id, name: "Tests", conclusion: "passed" },
    };
  },
  "tasks.setCheckKey": async (service) => {
    const { buyer, bidder } = await between(service, async () => null);
    const [ended, other] = [await reportingKey(service, buyer), await reportingKey(service, buyer)];
    const { task } = await awardedWithChecks(buyer, bidder, { checks: [externalCheck(ended.id)] });
    await buyer.delete(`/keys/${ended.id}`);
    return { caller: buyer, input: { id: task.id, name: "Tests", keyId: other.id } };
  },
  "wallet.topup": async (service) => ({ caller: await createPerson(service), input: { amountCents: 5_000 } }),
  "tasks.create": async (service) => ({
    caller: await createPerson(service, { cents: 1_000_000 }),
    input: taskInput(),
  }),
  "tasks.update": async (service) => {
    const { buyer, made } = await openTask(service);
    return { caller: buyer, input: { id: made.id, maxBudgetCents: 12_000, title: "Another title" } };
  },
  "tasks.cancel": async (service) => {
    const { buyer, made } = await openTask(service);
    return { caller: buyer, input: { id: made.id } };
  },
  "tasks.award": async (service) => {
    const { buyer, made } = await bidOn(service);
    return { caller: buyer, input: { id: made.taskId, bidId: made.id, expectedPriceCents: made.priceCents } };
  },
  "tasks.accept": async (service) => {
    const { buyer, made } = await delivered(service);
    return { caller: buyer, input: { id: made.task.id } };
  },
  "tasks.requestChanges": async (service) => {
    const { buyer, made } = await between(service, (...sides) => deliveredTask(...sides, { revisions: 1 }));
    return { caller: buyer, input: { id: made.task.id, reason: disputeReason, hours: 48 } };
  },
  "tasks.declineChanges": async (service) => {
    const { bidder, made } = await between(service, taskInRound);
    return { caller: bidder, input: { id: made.task.id, reason: disputeReason } };
  },
  "agreements.propose": async (service) => {
    const { bidder, made } = await delivered(service);
    const input = { id: made.task.id, kind: "settle", bidderCents: 5_000, reason: disputeReason };
    return { caller: bidder, input };
  },
  "agreements.accept": async (service) => {
    const { buyer, bidder, made } = await delivered(service);
    const { id } = await propose(bidder, made.task.id, { kind: "settle", bidderCents: 5_000 });
    return { caller: buyer, input: { id } };
  },
  "agreements.decline": async (service) => {
    const { buyer, bidder, made } = await delivered(service);
    return { caller: buyer, input: { id: (await propose(bidder, made.task.id)).id } };
  },
  "agreements.withdraw": async (service) => {
    const { bidder, made } = await delivered(service);
    return { caller: bidder, input: { id: (await propose(bidder, made.task.id)).id } };
  },
  "bids.giveBack": async (service) => {
    const { bidder, made } = await awarded(service);
    return { caller: bidder, input: { id: made.bid.id, reason: disputeReason } };
  },
  "tasks.dispute": async (service) => {
    const { bidder, made } = await delivered(service);
    return { caller: bidder, input: { id: made.task.id, reason: disputeReason } };
  },
  "tasks.rate": async (service) => {
    const { buyer, made } = await delivered(service);
    await buyer.post(`/tasks/${made.task.id}/accept`);
    return { caller: buyer, input: { id: made.task.id, stars: 5, comment: "Thank you." } };
  },
  "tasks.fileInit": async (service) => {
    const { buyer, made } = await openTask(service);
    return { caller: buyer, input: { id: made.id, mimeType: "text/plain", bytes: 5 } };
  },
  "tasks.fileFinalize": async (service) => {
    const { buyer, made } = await openTask(service);
    return { caller: buyer, input: { id: made.id, storageKey: await uploadBriefFile(buyer, made.id) } };
  },
  "tasks.removeFile": async (service) => {
    const { buyer, made } = await openTask(service);
    return { caller: buyer, input: { id: made.id, fileId: (await addBriefFile(buyer, made.id)).id } };
  },
  "messages.send": async (service) => {
    const { bidder, made } = await bidOn(service);
    return { caller: bidder, input: { id: made.id, text: "Hello." } };
  },
  "messages.fileInit": async (service) => {
    const { buyer, made } = await bidOn(service);
    return { caller: buyer, input: { id: made.id, mimeType: "text/plain", bytes: 5 } };
  },
  "messages.fileFinalize": async (service) => {
    const { bidder, made } = await bidOn(service);
    const { storageKey } = await putShared(bidder, `/bids/${made.id}`);
    return { caller: bidder, input: { id: made.id, storageKey } };
  },
  "messages.read": async (service) => {
    const { buyer, bidder, made } = await bidOn(service);
    const { message } = (await bidder.post(`/bids/${made.id}/messages`, { text: "Hello." })).body;
    return { caller: buyer, input: { id: made.id, upTo: message.id } };
  },
  "tasks.ask": async (service) => {
    const { bidder, made } = await openTask(service);
    return { caller: bidder, input: { id: made.id, text: "How many words?" } };
  },
  "questions.answer": async (service) => {
    const { buyer, made } = await between(service, askedQuestion);
    return { caller: buyer, input: { id: made.id, text: "Five hundred." } };
  },
  "questions.remove": async (service) => {
    const { made } = await between(service, askedQuestion);
    return { caller: await createModerator(service), input: { id: made.id, reason: "Names a person." } };
  },
  "bids.place": async (service) => {
    const { bidder, made } = await openTask(service);
    return { caller: bidder, input: { id: made.id, priceCents: 7_000, etaHours: 5 } };
  },
  "bids.update": async (service) => {
    const { bidder, made } = await bidOn(service);
    return { caller: bidder, input: { id: made.id, priceCents: 6_500 } };
  },
  "bids.withdraw": async (service) => {
    const { bidder, made } = await bidOn(service);
    return { caller: bidder, input: { id: made.id } };
  },
  "bids.sampleInit": async (service) => {
    const { bidder, made } = await awarded(service);
    return { caller: bidder, input: { id: made.bid.id, mimeType: "text/plain", bytes: 5 } };
  },
  "bids.sampleFinalize": async (service) => {
    const { bidder, made } = await awarded(service);
    return { caller: bidder, input: { id: made.bid.id, storageKey: await upload(bidder, made.bid.id, "sample") } };
  },
  "bids.deliveryInit": async (service) => {
    const { bidder, made } = await awarded(service);
    return { caller: bidder, input: { id: made.bid.id, mimeType: "text/plain", bytes: 5 } };
  },
  "bids.deliveryFinalize": async (service) => {
    const { bidder, made } = await awarded(service);
    return { caller: bidder, input: { id: made.bid.id, storageKey: await upload(bidder, made.bid.id, "delivery") } };
  },
  "disputes.resolve": async (service) => {
    const { made } = await between(service, disputedTask);
    const input = { id: made.dispute.id, resolution: "split", bidderCents: 3_000 };
    return { caller: await createModerator(service), input };
  },
  "notifications.read": async (service) => {
    const caller = await createPerson(service);
    return { caller, input: { upTo: (await toldOnce(service, caller)).id } };
  },
  "notifications.updatePreferences": async (service) => ({
    caller: await createPerson(service),
    input: { deadlines: { mail: "daily", push: false } },
  }),
  "notifications.subscribePush": async (service) => {
    const caller = await createPerson(service);
    // Makes the installation's key, without which no browser subscribes.
    await caller.get("/notifications/push");
    return { caller, input: browserSubscription(`https://${webhookHost}/push/${crypto.randomUUID()}`) };
  },
  "notifications.unsubscribePush": async (service) => {
    const caller = await createPerson(service);
    const { subscription } = (await caller.post("/notifications/push", browserSubscription())).body;
    return { caller, input: { id: subscription.id } };
  },
  "webhooks.create": async (service) => ({ caller: await createPerson(service), input: webhook }),
  "webhooks.update": async (service) => {
    const { caller, id } = await endpointOf(service);
    return { caller, input: { id, events: ["bid.received"], logEvents: ["bid.rejected"], active: false } };
  },
  "webhooks.remove": async (service) => {
    const { caller, id } = await endpointOf(service);
    return { caller, input: { id } };
  },
  "webhooks.test": async (service) => {
    const { caller, id } = await endpointOf(service);
    return { caller, input: { id } };
  },
  "webhooks.replaySince": async (service) => {
    const { caller, id } = await endpointOf(service);
    return { caller, input: { id, since: "2020-01-01T00:00:00Z" } };
  },
  "webhooks.replay": async (service) => {
    const { caller, deliveryId } = await endpointOf(service);
    return { caller, input: { id: deliveryId } };
  },
  "exports.create": async (service) => ({
    caller: await createPerson(service),
    input: { kind: "ledger", format: "csv" },
  }),
  "payouts.onboarding": async (service) => ({ caller: await createPerson(service), input: {} }),
  "payouts.create": async (service) => ({ caller: await createPayee(service), input: { amountCents: 2_000 } }),
};

/** Tables that do not show what a request has done: the processor's events arrive at any time, and hosts are shared. */
const uncounted = ["idempotency_keys", "processor_events", "webhook_hosts"];

/** The number of rows of every table, to compare what two arrangements have changed. */
export async function countRows({ services }: TestService): Promise<Record<string, number>> {
  const { pool } = services.database;
  const { rows } = await pool.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL ($1)",
    [uncounted],
  );
  const counts = rows.map(({ name }) => `SELECT '${name}' AS name, count(*)::int AS count FROM ${name}`);
  counts.push(`SELECT 'jobs', count(*)::int FROM graphile_worker.jobs WHERE task_identifier <> 'applyProcessorEvent'`);
  const { rows: counted } = await pool.query<{ name: string; count: number }>(counts.join(" UNION ALL "));
  return Object.fromEntries(counted.map(({ name, count }) => [name, count]));
}

/** The tables that have grown, and by how many rows. */
export async function growthDuring(
  service: TestService,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await countRows(service);
  await work();
  const after = await countRows(service);
  const growth = Object.entries(after).map(([name, count]): [string, number] => [name, count - (before[name] ?? 0)]);
  return Object.fromEntries(growth.filter(([, count]) => count !== 0));
}
