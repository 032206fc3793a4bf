import { expect, test } from "vitest";
import { audit } from "../../server/audit/audit.ts";
import { numberReceipts } from "../../server/market/papers/receipts.ts";
import { exportListNames } from "../../server/schemas/accountExport.ts";
import { sql } from "../../server/store/connection.ts";
import { askedIn, createAgent } from "../approvals/agents.ts";
import { addBriefFile, addShared } from "../factories/conversation.ts";
import { createModerator } from "../factories/moderators.ts";
import { tellAll } from "../factories/notifications.ts";
import { createPayee, requestPayout } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { codeOf, setUpTotp, signIn } from "../factories/secondFactors.ts";
import {
  awardedTask,
  deliver,
  deliveredTask,
  disputedTask,
  placeBid,
  postTask,
  taskInput,
  taskInRound,
  upload,
} from "../factories/tasks.ts";
import { openTopup } from "../factories/topups.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService({
  resolve: async (name) => (name === "hooks.example.com" ? ["93.184.215.14"] : Promise.reject(new Error("no name"))),
});

const close = (person: TestPerson) => person.delete("/auth/me", { password: person.password });

test("an export has everything of the caller's, and no secret", async () => {
  const [person, other, moderator] = await Promise.all([
    createPayee(service, { cents: 100_000 }),
    createPerson(service, { cents: 100_000 }),
    createModerator(service),
  ]);
  const task = await postTask(person, { description: "x".repeat(20_000) });
  await placeBid(person, (await postTask(other)).id, { notes: "n".repeat(5_000) });
  const { bid: won } = await awardedTask(other, person);
  const key = await upload(person, won.id, "sample");
  await person.post(`/bids/${won.id}/sample/finalize`, { storageKey: key });
  const { task: rated } = await deliveredTask(person, other);
  await person.post(`/tasks/${rated.id}/accept`);
  await person.post(`/tasks/${rated.id}/rate`, { stars: 5, comment: "Thank you." });
  await other.post(`/tasks/${rated.id}/rate`, { stars: 4 });
  const { dispute } = await disputedTask(other, person);
  const { task: changed } = await taskInRound(other, person);
  await person.post(`/tasks/${changed.id}/agreements`, { kind: "cancel", reason: "Neither of us wants this." });
  await openTopup(service, person);
  await requestPayout(person, 1_000);
  expect((await person.post("/exports", { kind: "ledger", format: "csv" })).status).toBe(202);
  await numberReceipts(service.services);
  const file = await addBriefFile(person, (await postTask(person)).id);
  const sent = (await person.post(`/bids/${won.id}/messages`, { text: "Hello." })).body.message;
  const asked = await person.post(`/tasks/${(await postTask(other)).id}/questions`, { text: "How many words?" });
  const { question } = (await other.post(`/tasks/${task.id}/questions`, { text: "How many pages?" })).body;
  await person.post(`/questions/${question.id}/answer`, { text: "Two." });
  const webhook = (await person.post("/webhooks", { url: "https://hooks.example.com/", events: ["task.created"] }))
    .body;
  await person.post(`/webhooks/${webhook.id}/test`);
  const deleted = (await person.post("/webhooks", { url: "https://hooks.example.com/old", events: ["task.created"] }))
    .body;
  await person.delete(`/webhooks/${deleted.id}`);
  const { secret } = await setUpTotp(service, person);
  await service.services.database.query(sql`
    INSERT INTO moderation_actions (moderator_id, action, user_id, reason)
    VALUES (${moderator.id}::uuid, 'reinstate_user', ${person.id}::uuid, 'A mistake.'),
           (${person.id}::uuid, 'suspend_user', ${other.id}::uuid, 'While they were a moderator.')`);

  await person.patch("/auth/me", { timeZone: "Europe/Helsinki" });
  await person.patch("/notifications/preferences", { work: { mail: "daily" } });
  askedIn(await (await createAgent(service, person, 0)).post("/tasks", taskInput({ maxBudgetCents: 1 })));
  await tellAll(service);
  const answer = await person.get("/auth/export");
  expect(answer.status).toBe(200);
  const { body } = answer;
  expect(body.user).toMatchObject({ id: person.id, email: person.email, secondFactorSince: expect.any(String) });
  expect(body).toMatchObject({ user: { timeZone: "Europe/Helsinki" }, preferences: { work: { mail: "daily" } } });
  expect(body.nextPart).toBeNull();
  for (const list of exportListNames) expect([list, body[list].length > 0]).toEqual([list, true]);
  expect(body.tasks.map(({ id }: { id: string }) => id)).toContain(task.id);
  expect(body.tasks[0].description).toHaveLength(20_000);
  expect(body.bids[0].notes).toHaveLength(5_000);
  expect(body.files[0]).toMatchObject({ kind: "sample", mimeType: "text/plain" });
  expect(body.sharedFiles).toMatchObject([{ id: file.id, kind: "brief", sha256: file.sha256 }]);
  expect(body.messages).toMatchObject([{ id: sent.id, role: "bidder", text: "Hello." }]);
  expect(body.questions).toEqual([asked.body.question]);
  expect(body.answers).toMatchObject([{ id: question.id, answer: { text: "Two." } }]);
  expect(body.disputes).toMatchObject([{ id: dispute.id }]);
  expect(body.ratingsReceived).toMatchObject([{ stars: 4 }]);
  expect(body.ledger.length).toBe((await person.get("/wallet/ledger?limit=100")).body.entries.length);
  expect(body.moderationActions).toEqual([
    {
      id: expect.any(String),
      action: "reinstate_user",
      disputeId: null,
      questionId: null,
      reason: "A mistake.",
      createdAt: expect.any(String),
    },
  ]);
  expect(body.ownModerationActions).toMatchObject([{ action: "suspend_user", reason: "While they were a moderator." }]);
  expect(body.receipts).toMatchObject([
    { number: expect.stringMatching(/^\d{4}-\d{6}$/), taskId: rated.id, topupId: null },
  ]);
  expect(body.exports).toMatchObject([{ kind: "ledger", format: "csv", status: "pending" }]);
  expect(body.payoutAccount).toMatchObject({ accountId: person.accountId, email: person.email, active: true });
  expect(body.webhooks).toMatchObject([
    { id: webhook.id, deletedAt: null },
    { url: "https://hooks.example.com/old", deletedAt: expect.any(String) },
  ]);
  const { raw = "" } = (await person.post("/keys", { label: "raw", scopes: [] })).body;
  for (const hidden of [secret, webhook.signingSecret, raw, other.email, moderator.id, "downloadUrl", "uploads/"]) {
    expect(answer.text).not.toContain(hidden);
  }
});

test("a large account comes in parts of bounded size, which together have each record once", async () => {
  const person = await createPerson(service);
  await service.services.database.query(sql`
    INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at, status)
    SELECT ${person.id}::uuid, 'Task ' || n, repeat('é', 20000), 10, '{}', now() - n * interval '1 second', 'cancelled'
    FROM generate_series(1, 65) n`);
  const seen: string[] = [];
  let parts = 0;
  for (let after: string | null = ""; after !== null; parts++) {
    const { text, body } = await person.get(`/auth/export${after && `?after=${encodeURIComponent(after)}`}`);
    expect(Buffer.byteLength(text)).toBeLessThan(300_000);
    expect(body.user.id).toBe(person.id);
    seen.push(...body.tasks.map(({ title }: { title: string }) => title));
    after = body.nextPart;
  }
  expect([parts, seen.length, new Set(seen).size]).toEqual([14, 65, 65]);
  for (const after of [
    "tasks",
    "tasks~x~y",
    `tasks~2026-02-30T12:00:00.000000Z~${person.id}`,
    "users~2026-01-01T00:00:00.000000Z~6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
  ]) {
    expectError(await person.get(`/auth/export?after=${after}`), "invalid_input");
  }
});

test("an account with anything open is not closed, and the answer says what is", async () => {
  const person = await createPayee(service, { cents: 100_000 });
  const other = await createPerson(service, { cents: 100_000 });
  const task = await postTask(person);
  const bid = await placeBid(person, (await postTask(other)).id);
  const { task: won } = await awardedTask(other, person);
  const { task: disputed, dispute } = await disputedTask(person, other, { priceCents: 700, maxBudgetCents: 700 });
  const topup = await openTopup(service, person);
  await requestPayout(person, 1_000);
  const { payouts } = (await person.get("/payouts")).body;
  await service.services.database.query(sql`UPDATE wallets SET debt_cents = 0 WHERE user_id = ${person.id}::uuid`);

  const answer = await close(person);
  expectError(answer, "account_in_use");
  expect(answer.body.open).toEqual([
    { kind: "tasks", count: 2, ids: [task.id, disputed.id].sort() },
    { kind: "awards", count: 1, ids: [won.id] },
    { kind: "bids", count: 1, ids: [bid.id] },
    { kind: "disputes", count: 1, ids: [dispute.id] },
    { kind: "topups", count: 1, ids: [topup.id] },
    { kind: "payouts", count: 1, ids: [payouts[0].id] },
    { kind: "available", cents: 100_000 - 10_000 - 700 - 1_000 },
    { kind: "held", cents: 10_700 },
  ]);
  expect((await person.get("/auth/me")).body.user.email).toBe(person.email);
});

test("closing needs the password, and the second factor where there is one", async () => {
  const person = await createPerson(service);
  expectError(await person.delete("/auth/me", { password: "wrong" }), "invalid_credentials");
  expectError(await person.delete("/auth/me"), "invalid_input");
  expectError(await rest(service.url, "DELETE", "/auth/me", { credentials: person.key }), "forbidden");
  const { secret } = await setUpTotp(service, person);
  expectError(await close(person), "second_factor_required");
  const closed = await person.delete("/auth/me", { password: person.password, code: codeOf(service, secret) });
  expect(closed.status).toBe(204);
  expect(closed.headers.get("set-cookie")).toMatch(/rebid_session=;/);
});

test("a closed account leaves others' records whole, under another name, and the books in order", async () => {
  const { database } = service.services;
  const [person, other] = [await createPerson(service, { cents: 700 }), await createPerson(service)];
  const { task, dispute } = await disputedTask(person, other, { priceCents: 700, maxBudgetCents: 700 });
  const moderator = await createModerator(service);
  await moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "release" });
  await person.post(`/tasks/${task.id}/rate`, { stars: 3, comment: "Late." });
  await person.post("/webhooks", { url: "https://hooks.example.com/", events: ["task.created"] });
  const before = (await audit(service.services, { since: null })).discrepancies;
  expect((await close(person)).status).toBe(204);

  for (const credentials of [person.session, person.key]) {
    expectError(await rest(service.url, "GET", "/auth/me", { credentials }), "unauthenticated");
  }
  expectError((await signIn(service, person)).answer, "invalid_credentials");
  const seen = (await other.get(`/tasks/${task.id}`)).body;
  expect(seen.task.buyer).toEqual({ id: person.id, displayName: "Deleted user" });
  expect(seen.ratings).toMatchObject([{ comment: "Late." }]);
  expect((await moderator.get(`/disputes/${dispute.id}`)).body.reputations.buyer.buyer.tasksPosted).toBe(1);
  expectError(await rest(service.url, "GET", `/users/${person.id}/reputation`), "not_found");
  expect((await moderator.get(`/users?query=${person.id}`)).body.users).toEqual([]);
  expectError(await moderator.post(`/users/${person.id}/suspend`, { reason: "Gone." }), "not_found");
  const rows = await database.query(sql`
    SELECT email, display_name FROM users WHERE id = ${person.id}::uuid
    UNION ALL SELECT signing_secret, url FROM webhook_endpoints WHERE user_id = ${person.id}::uuid`);
  expect(rows).toEqual([
    { email: `closed:${person.id}`, display_name: "Deleted user" },
    { email: "", display_name: "" },
  ]);

  const { email, password } = person;
  const again = await rest(service.url, "POST", "/auth/signup", { body: { email, password, displayName: "Back" } });
  expect([again.status, again.body.user.id === person.id]).toEqual([201, false]);
  await expectBooksToBalance(service);
  // The factories' money did not come from the processor; closing adds nothing to that.
  expect((await audit(service.services, { since: null })).discrepancies).toEqual(before);
});

test("what a closed account asked, answered, wrote and shared stays, under another name", async () => {
  const [person, other] = [await createPerson(service, { cents: 700 }), await createPerson(service, { cents: 20_000 })];
  const gone = { id: person.id, displayName: "Deleted user" };
  // As a buyer, with nothing left in the wallet.
  const own = await postTask(person, { maxBudgetCents: 700 });
  await addBriefFile(person, own.id, "Page one.");
  const { question } = (await other.post(`/tasks/${own.id}/questions`, { text: "How many words?" })).body;
  await person.post(`/questions/${question.id}/answer`, { text: "Two hundred." });
  const bid = await placeBid(other, own.id, { priceCents: 700 });
  const { message } = (await person.post(`/bids/${bid.id}/messages`, { text: "Please begin." })).body;
  await person.post(`/tasks/${own.id}/award`, { bidId: bid.id });
  await deliver(other, bid.id);
  await person.post(`/tasks/${own.id}/accept`);
  // As a bidder.
  const theirs = await postTask(other);
  await person.post(`/tasks/${theirs.id}/questions`, { text: "Until when?" });
  const offer = await placeBid(person, theirs.id);
  const file = await addShared(person, `/bids/${offer.id}`, "A sample.");
  const sent = await person.post(`/bids/${offer.id}/messages`, {
    text: "I could do it like this.",
    fileIds: [file.id],
  });
  await person.post(`/bids/${offer.id}/withdraw`);
  expect((await close(person)).status).toBe(204);

  const task = (await other.get(`/tasks/${own.id}`)).body;
  expect([task.task.buyer, task.files.length, task.fileCount]).toEqual([gone, 1, 1]);
  expect(await (await fetch(task.files[0].downloadUrl)).text()).toBe("Page one.");
  const [answered] = (await other.get(`/tasks/${own.id}/questions`)).body.questions;
  expect(answered.answer.text).toBe("Two hundred.");
  const messagesOf = async (bidId: string) => (await other.get(`/bids/${bidId}/messages`)).body.messages;
  expect(await messagesOf(bid.id)).toEqual([{ ...message, sender: gone }]);
  const [asked] = (await other.get(`/tasks/${theirs.id}/questions`)).body.questions;
  expect([asked.text, asked.asker]).toEqual(["Until when?", gone]);
  const [written] = await messagesOf(offer.id);
  expect(written).toMatchObject({ id: sent.body.message.id, text: "I could do it like this.", sender: gone });
  expect(await (await fetch(written.files[0].downloadUrl)).text()).toBe("A sample.");
  const { conversations } = (await other.get("/conversations")).body;
  expect(conversations.map((each: { with: object }) => each.with)).toEqual([gone, gone]);
  // The bid that was accepted can still be written about: nobody reads it, and nothing breaks.
  expect((await other.post(`/bids/${bid.id}/messages`, { text: "Thank you." })).status).toBe(201);
});

test("whatever races with closing, a closed account has nothing open", async () => {
  const person = await createPerson(service);
  const other = await createPerson(service, { cents: 100_000 });
  const tasks = await Promise.all(Array.from({ length: 4 }, () => postTask(other)));
  const answers = await Promise.all([
    ...tasks.map(({ id }) => person.post(`/tasks/${id}/bids`, { priceCents: 100, etaHours: 1 })),
    close(person),
    close(person),
    person.post("/keys", { label: "late", scopes: [] }),
    signIn(service, person).then(({ answer }) => answer),
  ]);
  const closed = answers.filter(({ status }) => status === 204).length;
  expect(closed).toBeLessThanOrEqual(1);
  const [left] = await service.services.database.query<{ closed: boolean; bids: number; credentials: number }>(sql`
    SELECT closed_at IS NOT NULL AS closed,
           (SELECT count(*)::int FROM bids WHERE bidder_id = u.id AND status = 'active') AS bids,
           (SELECT count(*) FROM sessions WHERE user_id = u.id)::int
             + (SELECT count(*) FROM api_keys WHERE user_id = u.id)::int AS credentials
    FROM users u WHERE id = ${person.id}::uuid`);
  expect(left?.closed).toBe(closed === 1);
  if (left?.closed) expect(left).toMatchObject({ bids: 0, credentials: 0 });
});
