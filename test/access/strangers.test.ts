import { beforeAll, describe, expect, test } from "vitest";
import type { ErrorCode } from "../../server/errors.ts";
import { askedIn, createAgent } from "../approvals/agents.ts";
import { browserSubscription } from "../factories/browsers.ts";
import { addBriefFile, putShared, uploadBriefFile } from "../factories/conversation.ts";
import { toldOnce } from "../factories/notifications.ts";
import { createPayee, requestPayout } from "../factories/payouts.ts";
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
  upload,
} from "../factories/tasks.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { type Input, routeOf, routes, transports } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";

const service = useService();

interface World {
  openTaskId: string;
  activeBidId: string;
  awardedBidId: string;
  sampleKey: string;
  deliveryKey: string;
  deliveredTaskId: string;
  deliveredBidId: string;
  disputeId: string;
  agreementId: string;
  approvalId: string;
  keyId: string;
  sessionId: string;
  webhookId: string;
  webhookDeliveryId: string;
  pushId: string;
  notificationId: string;
  payoutId: string;
  exportId: string;
  questionId: string;
  messageKey: string;
  messageId: string;
  fileKey: string;
  fileId: string;
}

let world: World;
let buyer: TestPerson;
let bidder: TestPerson;
let stranger: TestPerson;

beforeAll(async () => {
  buyer = await createPerson(service, { cents: 100_000 });
  bidder = await createPerson(service);
  stranger = await createPerson(service, { cents: 20_000 });
  const open = await postTask(buyer);
  const bid = await placeBid(bidder, open.id);
  const awarded = await awardedTask(buyer, bidder);
  const delivered = await deliveredTask(buyer, bidder);
  const { dispute } = await disputedTask(buyer, bidder);
  const { body: webhook } = await buyer.post("/webhooks", {
    url: "https://hooks.example.com/buyer",
    events: ["task.created"],
  });
  const asked = await bidder.post(`/tasks/${open.id}/questions`, { text: "How many words?" });
  const payee = await createPayee(service);
  await requestPayout(payee, 2_000);
  world = {
    openTaskId: open.id,
    activeBidId: bid.id,
    awardedBidId: awarded.bid.id,
    sampleKey: await upload(bidder, awarded.bid.id, "sample"),
    deliveryKey: await upload(bidder, awarded.bid.id, "delivery"),
    deliveredTaskId: delivered.task.id,
    deliveredBidId: delivered.bid.id,
    disputeId: dispute.id,
    approvalId: askedIn(await (await createAgent(service, buyer, 0)).post("/tasks", taskInput({ maxBudgetCents: 100 })))
      .id,
    agreementId: (await propose(bidder, delivered.task.id)).id,
    keyId: (await buyer.get("/keys")).body.keys[0].id,
    sessionId: (await buyer.get("/auth/sessions")).body.sessions[0].id,
    webhookId: webhook.id,
    webhookDeliveryId: (await buyer.post(`/webhooks/${webhook.id}/test`)).body.delivery.id,
    pushId: (await buyer.post("/notifications/push", browserSubscription())).body.subscription.id,
    notificationId: (await toldOnce(service, buyer)).id,
    payoutId: (await payee.get("/payouts")).body.payouts[0].id,
    exportId: (await buyer.post("/exports", { kind: "ledger", format: "csv" })).body.export.id,
    questionId: asked.body.question.id,
    messageKey: (await putShared(bidder, `/bids/${bid.id}`)).storageKey,
    messageId: (await bidder.post(`/bids/${bid.id}/messages`, { text: "Hello." })).body.message.id,
    fileKey: await uploadBriefFile(buyer, open.id),
    fileId: (await addBriefFile(buyer, open.id)).id,
  };
});

/**
 * What each procedure answers to a stranger: someone who has no part in the task, bid or key. Every procedure needs a
 * line, `"noun.verb": [expected, (world) => input]`, where `input` is a valid call on what belongs to others, and
 * `expected` is the error code of the refusal, "own view" when the stranger sees only what is theirs, or "open" when
 * everyone may do this by design, such as bidding on an open task.
 */
type Expected = ErrorCode | "own view" | "open";
const file = { mimeType: "text/plain", bytes: 5 };
const table: Record<string, [Expected, (world: World) => Input]> = {
  "auth.signup": [
    "open",
    () => ({ email: `new${Math.random()}@example.com`, password: "a password", displayName: "N" }),
  ],
  "auth.login": ["open", () => ({ email: stranger.email, password: stranger.password })],
  "auth.me": ["own view", () => ({})],
  "auth.logout": ["open", () => ({})],
  "auth.update": ["own view", () => ({ displayName: "Still me" })],
  "auth.changePassword": ["own view", () => ({ currentPassword: buyer.password, newPassword: buyer.password })],
  "auth.forgotPassword": ["open", () => ({ email: buyer.email })],
  "auth.resetPassword": ["invalid_token", () => ({ token: "guessed", newPassword: "a password" })],
  "auth.verifyEmail": ["invalid_token", () => ({ token: "guessed" })],
  "auth.resendVerification": ["own view", () => ({})],
  "auth.listSessions": ["own view", () => ({})],
  "auth.endSession": ["not_found", ({ sessionId }) => ({ id: sessionId })],
  "auth.startTotp": ["own view", () => ({ password: stranger.password })],
  "auth.confirmTotp": ["not_found", () => ({ code: "123456" })],
  "auth.removeTotp": ["not_found", () => ({ password: stranger.password })],
  "auth.export": ["own view", () => ({})],
  "auth.close": ["account_in_use", () => ({ password: stranger.password })],
  "keys.create": ["own view", () => ({ label: "mine", scopes: [] })],
  "keys.list": ["own view", () => ({})],
  "keys.activity": ["not_found", ({ keyId }) => ({ id: keyId })],
  "keys.revoke": ["not_found", ({ keyId }) => ({ id: keyId })],
  "approvals.list": ["own view", () => ({})],
  "approvals.read": ["not_found", ({ approvalId }) => ({ id: approvalId })],
  "approvals.approve": ["not_found", ({ approvalId }) => ({ id: approvalId, seen: "x" })],
  "approvals.decline": ["not_found", ({ approvalId }) => ({ id: approvalId, reason: "No." })],
  "wallet.read": ["own view", () => ({})],
  "wallet.ledger": ["own view", () => ({})],
  "wallet.statements": ["own view", () => ({})],
  "wallet.topup": ["own view", () => ({ amountCents: 500 })],
  "payouts.onboarding": ["own view", () => ({})],
  "payouts.create": ["onboarding_required", () => ({ amountCents: 1_000 })],
  "payouts.list": ["own view", () => ({})],
  "payouts.read": ["not_found", ({ payoutId }) => ({ id: payoutId })],
  "tasks.list": ["open", () => ({})],
  "tasks.create": ["own view", () => taskInput({ maxBudgetCents: 100 })],
  "tasks.read": ["open", ({ deliveredTaskId }) => ({ id: deliveredTaskId })],
  "tasks.update": ["forbidden", ({ openTaskId }) => ({ id: openTaskId, title: "Taken over" })],
  "tasks.cancel": ["forbidden", ({ openTaskId }) => ({ id: openTaskId })],
  "tasks.award": ["forbidden", ({ openTaskId, activeBidId }) => ({ id: openTaskId, bidId: activeBidId })],
  "tasks.accept": ["forbidden", ({ deliveredTaskId }) => ({ id: deliveredTaskId })],
  "tasks.requestChanges": ["forbidden", ({ deliveredTaskId }) => ({ id: deliveredTaskId, reason: disputeReason })],
  "tasks.declineChanges": ["forbidden", ({ deliveredTaskId }) => ({ id: deliveredTaskId, reason: disputeReason })],
  "agreements.list": ["not_found", ({ deliveredTaskId }) => ({ id: deliveredTaskId })],
  "agreements.propose": [
    "forbidden",
    ({ deliveredTaskId }) => ({ id: deliveredTaskId, kind: "cancel", reason: disputeReason }),
  ],
  "agreements.accept": ["not_found", ({ agreementId }) => ({ id: agreementId })],
  "agreements.decline": ["not_found", ({ agreementId }) => ({ id: agreementId })],
  "agreements.withdraw": ["not_found", ({ agreementId }) => ({ id: agreementId })],
  "tasks.preflight": ["own view", () => ({ checks: [], mimeType: "text/plain", content: "aGVsbG8=" })],
  "bids.deliveryPreflight": [
    "forbidden",
    ({ awardedBidId, deliveryKey }) => ({ id: awardedBidId, storageKey: deliveryKey }),
  ],
  // Only the API key that a task names reports; the stranger here has a session.
  "deliveries.report": ["forbidden", () => ({ id: crypto.randomUUID(), name: "Tests", conclusion: "passed" })],
  "tasks.setCheckKey": ["forbidden", ({ openTaskId, keyId }) => ({ id: openTaskId, name: "Tests", keyId })],
  "bids.giveBack": ["forbidden", ({ awardedBidId }) => ({ id: awardedBidId, reason: disputeReason })],
  "tasks.dispute": ["forbidden", ({ deliveredTaskId }) => ({ id: deliveredTaskId, reason: disputeReason })],
  "tasks.rate": ["forbidden", ({ deliveredTaskId }) => ({ id: deliveredTaskId, stars: 1 })],
  "tasks.fileInit": ["forbidden", ({ openTaskId }) => ({ id: openTaskId, ...file })],
  "tasks.fileFinalize": ["forbidden", ({ openTaskId, fileKey }) => ({ id: openTaskId, storageKey: fileKey })],
  "tasks.removeFile": ["forbidden", ({ openTaskId, fileId }) => ({ id: openTaskId, fileId })],
  "messages.list": ["not_found", ({ activeBidId }) => ({ id: activeBidId })],
  "messages.send": ["not_found", ({ activeBidId }) => ({ id: activeBidId, text: "Hello." })],
  "messages.fileInit": ["not_found", ({ activeBidId }) => ({ id: activeBidId, ...file })],
  "messages.fileFinalize": [
    "not_found",
    ({ activeBidId, messageKey }) => ({ id: activeBidId, storageKey: messageKey }),
  ],
  "messages.read": ["not_found", ({ activeBidId, messageId }) => ({ id: activeBidId, upTo: messageId })],
  "messages.conversations": ["own view", () => ({})],
  "tasks.ask": ["open", ({ openTaskId }) => ({ id: openTaskId, text: "How many words?" })],
  "questions.list": ["open", ({ openTaskId }) => ({ id: openTaskId })],
  "questions.answer": ["forbidden", ({ questionId }) => ({ id: questionId, text: "Mine." })],
  "questions.remove": ["forbidden", ({ questionId }) => ({ id: questionId, reason: "Mine." })],
  "tasks.listOwn": ["own view", () => ({})],
  "disputes.list": ["own view", () => ({})],
  "disputes.read": ["not_found", ({ disputeId }) => ({ id: disputeId })],
  "disputes.resolve": ["forbidden", ({ disputeId }) => ({ id: disputeId, resolution: "refund" })],
  "users.list": ["forbidden", () => ({})],
  "users.suspend": ["forbidden", () => ({ id: bidder.id, reason: "Spam." })],
  "users.reinstate": ["forbidden", () => ({ id: bidder.id })],
  "moderation.listActions": ["forbidden", () => ({})],
  "operations.read": ["forbidden", () => ({})],
  "users.reputation": ["open", () => ({ id: buyer.id })],
  "bids.place": ["open", ({ openTaskId }) => ({ id: openTaskId, priceCents: 5, etaHours: 1 })],
  "bids.listForTask": ["own view", ({ deliveredTaskId }) => ({ id: deliveredTaskId })],
  "bids.read": ["not_found", ({ activeBidId }) => ({ id: activeBidId })],
  "bids.listOwn": ["own view", () => ({})],
  "bids.update": ["forbidden", ({ activeBidId }) => ({ id: activeBidId, priceCents: 1 })],
  "bids.withdraw": ["forbidden", ({ activeBidId }) => ({ id: activeBidId })],
  "bids.sampleInit": ["forbidden", ({ awardedBidId }) => ({ id: awardedBidId, ...file })],
  "bids.sampleFinalize": ["forbidden", ({ awardedBidId, sampleKey }) => ({ id: awardedBidId, storageKey: sampleKey })],
  "bids.deliveryInit": ["forbidden", ({ awardedBidId }) => ({ id: awardedBidId, ...file })],
  "bids.deliveryFinalize": [
    "forbidden",
    ({ awardedBidId, deliveryKey }) => ({ id: awardedBidId, storageKey: deliveryKey }),
  ],
  "fees.read": ["open", () => ({})],
  "exports.create": ["own view", () => ({ kind: "account", format: "json" })],
  "exports.list": ["own view", () => ({})],
  "exports.read": ["not_found", ({ exportId }) => ({ id: exportId })],
  "events.list": ["open", () => ({})],
  "events.stream": ["open", () => ({})],
  "webhooks.create": ["own view", () => ({ url: "https://hooks.example.com/rebid", events: ["task.created"] })],
  "notifications.list": ["own view", () => ({})],
  "notifications.read": ["not_found", ({ notificationId }) => ({ upTo: notificationId })],
  "notifications.listPreferences": ["own view", () => ({})],
  "notifications.updatePreferences": ["own view", () => ({ money: { mail: "daily" } })],
  "notifications.listPush": ["own view", () => ({})],
  "notifications.subscribePush": ["own view", () => browserSubscription()],
  "notifications.unsubscribePush": ["not_found", ({ pushId }) => ({ id: pushId })],
  "webhooks.list": ["own view", () => ({})],
  "webhooks.update": ["not_found", ({ webhookId }) => ({ id: webhookId, active: false })],
  "webhooks.remove": ["not_found", ({ webhookId }) => ({ id: webhookId })],
  "webhooks.deliveries": ["not_found", ({ webhookId }) => ({ id: webhookId })],
  "webhooks.test": ["not_found", ({ webhookId }) => ({ id: webhookId })],
  "webhooks.replaySince": ["not_found", ({ webhookId }) => ({ id: webhookId, since: "2026-01-01T00:00:00Z" })],
  "webhooks.replay": ["not_found", ({ webhookDeliveryId }) => ({ id: webhookDeliveryId })],
};

test("every procedure has a line in the table", () => {
  const procedures = routes.map(({ procedurePath }) => procedurePath);
  const missing = procedures.filter((name) => !(name in table));
  const gone = Object.keys(table).filter((name) => !procedures.includes(name));
  const advice = [
    ...missing.map(
      (name) =>
        `${name}: add a line to \`table\` in test/access/strangers.test.ts that says what a stranger gets, such as ` +
        `"${name}": ["not_found", ({ openTaskId }) => ({ id: openTaskId })] (the comment above \`table\` has the choices)`,
    ),
    ...gone.map((name) => `${name}: there is no such procedure; remove its line from \`table\``),
  ];
  expect(advice).toEqual([]);
});

describe.each(transports)("over $transport", ({ transport, call }) => {
  test.each(Object.entries(table))(
    "%s shows a stranger nothing that belongs to others",
    async (name, [expected, inputOf]) => {
      const visitor = await createPerson(service, { cents: 10_000 });
      const input = name === "auth.login" ? { email: visitor.email, password: visitor.password } : inputOf(world);
      const { status, body } = await call(service.url, routeOf(name), input, visitor.session);
      if (expected !== "own view" && expected !== "open") {
        expectErrorBody(body, expected);
        return;
      }
      expect([name, status]).toEqual([name, routeOf(name).status]);
      const seen = JSON.stringify(body ?? null);
      // Others must never see email addresses, keys or uploads.
      for (const secret of [
        buyer.email,
        bidder.email,
        world.keyId,
        world.sessionId,
        world.sampleKey,
        world.deliveryKey,
        world.fileKey,
        world.messageKey,
        "downloadUrl",
      ]) {
        expect(seen).not.toContain(secret);
      }
      if (expected === "open") return;
      for (const id of [buyer.id, bidder.id, world.openTaskId, world.activeBidId, world.deliveredBidId]) {
        expect(seen).not.toContain(id);
      }
    },
  );

  test(`the ${transport} stranger's attempts have changed nothing`, async () => {
    const { task, bids } = (await buyer.get(`/tasks/${world.openTaskId}`)).body;
    expect(task.status).toBe("open");
    expect(bids.find((bid: { id: string }) => bid.id === world.activeBidId)).toMatchObject({
      status: "active",
      priceCents: 8_000,
    });
    expect((await buyer.get(`/tasks/${world.deliveredTaskId}`)).body.task.status).toBe("delivered");
    expect((await buyer.get("/keys")).body.keys).toHaveLength(3);
    const awarded = (await bidder.get(`/bids?status=awarded`)).body.bids;
    expect(awarded).toHaveLength(3);
  });
});

test("each side of a task is a stranger to what belongs to the other", async () => {
  expectErrorBody((await bidder.post(`/tasks/${world.deliveredTaskId}/accept`)).body, "forbidden");
  expectErrorBody((await bidder.post(`/tasks/${world.openTaskId}/cancel`)).body, "forbidden");
  expectErrorBody((await buyer.post(`/bids/${world.activeBidId}/withdraw`)).body, "forbidden");
  expectErrorBody((await buyer.post(`/bids/${world.awardedBidId}/delivery/init`, file)).body, "forbidden");
  const rival = await createPerson(service);
  await placeBid(rival, world.openTaskId, { priceCents: 4_000 });
  const seen = (await rival.get(`/tasks/${world.openTaskId}/bids`)).body.bids;
  expect(seen.map((bid: { bidder: { id: string } }) => bid.bidder.id)).toEqual([rival.id]);
});

test("an anonymous caller sees only a task's public fields", async () => {
  const response = await fetch(`${service.url}/tasks/${world.deliveredTaskId}`);
  const body = (await response.json()) as { task: object };
  expect(Object.keys(body).sort()).toEqual(["fileCount", "questionCount", "task"]);
  expect(Object.keys(body.task).sort()).toEqual(
    ["bidCount", "createdAt", "description", "id", "maxBudgetCents", "status", "tags", "title"].sort(),
  );
});
