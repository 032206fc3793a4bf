import { describe, expect, test } from "vitest";
import { sweepOnce } from "../../server/jobs/sweeps.ts";
import { sql } from "../../server/store/connection.ts";
import { awardedWithChecks, deliverJudged, externalCheck, sizeCheck } from "../factories/checks.ts";
import { createPayee } from "../factories/payouts.ts";
import { createPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, placeBid, postTask, propose, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";
import { approve, askedIn, createAgent, ownerAndAgent, readApproval } from "./agents.ts";

const service = useService();
const UNKNOWN = "019aa1b2-0000-7000-8000-0000000000ff";
const hours = (count: number) => service.clock.advance(count * 3_600);

describe("what a key has to ask", () => {
  test("payment by checks is said in the sentence, and other checks of such a task ask again", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const judged = { checks: [sizeCheck], acceptOnChecks: { afterMinutes: 5 } };
    const posting = askedIn(await agent.post("/tasks", taskInput({ ...judged, title: "Sum", maxBudgetCents: 900 })));
    expect((await readApproval(owner, posting.id)).summary).toBe(
      "Post “Sum”, and hold $9.00, to be paid by itself 5 minutes after its required checks have passed.",
    );
    const task = await postTask(owner, { title: "Sum", maxBudgetCents: 900 });
    expect((await agent.patch(`/tasks/${task.id}`, { checks: [sizeCheck] })).status).toBe(200);
    const paying = askedIn(await agent.patch(`/tasks/${task.id}`, { acceptOnChecks: { afterMinutes: 0 } }));
    expect((await readApproval(owner, paying.id)).summary).toBe(
      "Let “Sum” be paid by itself as soon as its required checks have passed, up to $9.00.",
    );
    await approve(owner, paying.id);
    const looser = askedIn(await agent.patch(`/tasks/${task.id}`, { checks: [{ ...sizeCheck, maxBytes: 9_000_000 }] }));
    expect((await readApproval(owner, looser.id)).summary).toMatch(/^Change the checks by which “Sum” is paid/);
  });

  test("a later report takes back what the key has asked about the check", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const bidder = await createPerson(service);
    const checks = [externalCheck(agent.keyId)];
    const { task, bid } = await awardedWithChecks(owner, bidder, { checks, acceptOnChecks: { afterMinutes: 0 } });
    const delivery = await deliverJudged(service.services, bidder, bid.id);
    const passed = { name: "Tests", conclusion: "passed" };
    const asked = askedIn(await agent.post(`/deliveries/${delivery.id}/checks`, passed));
    expect(askedIn(await agent.post(`/deliveries/${delivery.id}/checks`, passed)).id).toBe(asked.id);
    const failed = await agent.post(`/deliveries/${delivery.id}/checks`, { name: "Tests", conclusion: "failed" });
    expect(failed.status).toBe(200);
    const old = await readApproval(owner, asked.id);
    expect(old.status).toBe("superseded");
    expectError(await owner.post(`/approvals/${asked.id}/approve`, { seen: old.version }), "wrong_status");
    expect((await owner.get(`/tasks/${task.id}`)).body.task.status).toBe("delivered");
  });

  test("a report beside the decision about an earlier one waits for it, and neither ends in an error of ours", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const agreed = { checks: [externalCheck(agent.keyId)], acceptOnChecks: { afterMinutes: 0 } };
    const bidder = await createPerson(service);
    const { task, bid } = await awardedWithChecks(owner, bidder, agreed);
    const delivery = await deliverJudged(service.services, bidder, bid.id);
    const say = (conclusion: string) => agent.post(`/deliveries/${delivery.id}/checks`, { name: "Tests", conclusion });
    const { id } = askedIn(await say("passed"));
    const { database } = service.services;
    const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const { approving, reporting } = await database.transaction(async (tx) => {
      await tx.query(sql`SELECT FROM tasks WHERE id = ${task.id}::uuid FOR NO KEY UPDATE`);
      const approving = approve(owner, id);
      await expect.poll(() => database.query(waiting)).toHaveLength(1);
      const reporting = say("failed");
      await expect.poll(() => database.query(waiting)).toHaveLength(2);
      return { approving, reporting };
    });
    // The decision came first, and from then on the delivery is paid.
    expect((await approving).body.approval).toMatchObject({ status: "approved" });
    expectError(await reporting, "wrong_status");
  });

  test("an event from before approvals said who decided is still read", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const { id } = askedIn(await agent.post("/tasks", taskInput()));
    await service.services.database.query(sql`
      UPDATE events SET data = (data::jsonb #- '{approval,decidedBy}') WHERE data #>> '{approval,id}' = ${id}`);
    const { status, body } = await owner.get("/events?types=approval.requested");
    expect([status, body.events.at(-1).data.approval]).toMatchObject([200, { id, decidedBy: null }]);
  });

  test("a new task at the amount passes, and one with a cent more asks and changes nothing", async () => {
    const { owner, agent } = await ownerAndAgent(service, 5_000);
    expect((await agent.post("/tasks", taskInput({ maxBudgetCents: 5_000 }))).status).toBe(201);
    const asked = askedIn(await agent.post("/tasks", taskInput({ maxBudgetCents: 5_001 })));
    expect(asked).toEqual({
      id: expect.any(String),
      url: `${service.url}/app/approvals/${asked.id}`,
      expiresAt: expect.any(String),
    });
    expect((await owner.get("/me/tasks")).body.tasks).toHaveLength(1);
    expect((await owner.get("/wallet")).body).toMatchObject({ availableCents: 95_000, heldCents: 5_000 });
    expect(await readApproval(owner, asked.id)).toMatchObject({
      ...{ keyId: agent.keyId, operation: "tasks.create", amountCents: 5_001, status: "pending", result: null },
      summary: expect.stringMatching(/^Post “.+”, and hold \$50\.01\.$/),
    });
  });

  test("a raise asks about the whole new budget, however small each raise is, and lowering asks nobody", async () => {
    const { owner, agent } = await ownerAndAgent(service, 5_000);
    const task = await postTask(owner, { maxBudgetCents: 4_900 });
    expect((await agent.patch(`/tasks/${task.id}`, { maxBudgetCents: 5_000 })).status).toBe(200);
    const asked = askedIn(await agent.patch(`/tasks/${task.id}`, { maxBudgetCents: 5_001 }));
    expect(await readApproval(owner, asked.id)).toMatchObject({
      operation: "tasks.update",
      amountCents: 5_001,
      taskId: task.id,
    });
    await owner.patch(`/tasks/${task.id}`, { maxBudgetCents: 9_000 });
    expect((await agent.patch(`/tasks/${task.id}`, { maxBudgetCents: 8_000 })).status).toBe(200);
    expect((await agent.patch(`/tasks/${task.id}`, { title: "Another title" })).status).toBe(200);
  });

  test("an award and an acceptance ask about the price", async () => {
    const { owner, agent } = await ownerAndAgent(service, 7_999);
    const bidder = await createPerson(service);
    const task = await postTask(owner);
    const bid = await placeBid(bidder, task.id, { priceCents: 8_000 });
    const asked = askedIn(await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id }));
    expect(await readApproval(owner, asked.id)).toMatchObject({
      ...{ operation: "tasks.award", amountCents: 8_000, taskId: task.id, bidId: bid.id },
    });
    await bidder.patch(`/bids/${bid.id}`, { priceCents: 7_999 });
    expect((await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id })).status).toBe(200);
    const delivered = await deliveredTask(owner, bidder);
    const accepting = askedIn(await agent.post(`/tasks/${delivered.task.id}/accept`));
    expect(await readApproval(owner, accepting.id)).toMatchObject({ operation: "tasks.accept", amountCents: 8_000 });
    expect(Date.parse(accepting.expiresAt) - service.clock.now().getTime()).toBeLessThanOrEqual(48 * 3_600_000);
  });

  test("a settlement asks the buyer about what is paid, and the bidder about what is given up", async () => {
    const { owner: buyer, agent: buying } = await ownerAndAgent(service, 3_000);
    const { owner: bidder, agent: bidding } = await ownerAndAgent(service, 3_000);
    const { task } = await awardedTask(buyer, bidder);
    const reason = "We both want to end this.";
    const settle = (bidderCents: number) => ({ kind: "settle", bidderCents, reason });
    const path = `/tasks/${task.id}/agreements`;
    askedIn(await buying.post(path, settle(3_001)));
    askedIn(await bidding.post(path, settle(4_999)));
    askedIn(await bidding.post(path, { kind: "cancel", reason }));
    const mine = await buying.post(path, settle(3_000));
    expect(mine.status).toBe(201);
    const accepting = askedIn(await bidding.post(`/agreements/${mine.body.agreement.id}/accept`));
    expect(await readApproval(bidder, accepting.id)).toMatchObject({
      operation: "agreements.accept",
      amountCents: 5_000,
    });
    expect((await bidding.post(`/agreements/${mine.body.agreement.id}/decline`)).status).toBe(200);
    const theirs = await propose(bidder, task.id, settle(5_000));
    askedIn(await buying.post(`/agreements/${theirs.id}/accept`));
    await bidder.post(`/agreements/${theirs.id}/withdraw`);
    expect((await buying.post(path, { kind: "cancel", reason })).status).toBe(201);
  });

  test("a payout asks about its amount, with and without an Idempotency-Key, and can be repeated", async () => {
    const payee = await createPayee(service, { cents: 50_000 });
    const agent = await createAgent(service, payee, 1_000);
    const [first, second] = [
      await agent.post("/payouts", { amountCents: 2_000 }),
      await agent.post("/payouts", { amountCents: 2_000 }, "pay"),
    ];
    expect(askedIn(first).id).toBe(askedIn(second).id);
    expect(askedIn(await agent.post("/payouts", { amountCents: 2_000 }, "pay")).id).toBe(askedIn(first).id);
    expectError(await agent.post("/payouts", { amountCents: 3_000 }, "pay"), "idempotency_conflict");
    const { body } = await approve(payee, askedIn(first).id);
    expect(body.approval).toMatchObject({ status: "approved", result: { status: "pending" } });
    const repeated = await agent.post("/payouts", { amountCents: 2_000 }, "pay");
    expect([repeated.status, repeated.body]).toEqual([202, body.approval.result]);
    expect((await payee.get("/payouts")).body.payouts).toHaveLength(1);
  });
});

describe("asking comes last", () => {
  test("what is refused anyway is refused as before and asks nobody", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    expectError(await agent.post("/tasks", taskInput({ maxBudgetCents: 100_001 })), "insufficient_funds");
    expectError(await agent.post("/tasks", taskInput({ maxBudgetCents: 0 })), "invalid_input");
    expectError(await agent.post(`/tasks/${UNKNOWN}/accept`), "not_found");
    const other = await createPerson(service, { cents: 10_000 });
    const theirs = await postTask(other);
    expectError(await agent.post(`/tasks/${theirs.id}/accept`), "forbidden");
    const mine = await postTask(owner);
    expectError(await agent.post(`/tasks/${mine.id}/accept`), "wrong_status");
    expectError(await agent.post("/payouts", { amountCents: 1_000 }), "onboarding_required");
    expect((await owner.get("/approvals")).body.approvals).toEqual([]);
  });

  test("below the amount the spend limit refuses; above it, a person decides, and it counts and is not refused", async () => {
    const { owner, agent } = await ownerAndAgent(service, 5_000, { spendLimit: { cents: 6_000, per: "total" } });
    const spent = async () => (await agent.get("/auth/me")).body.auth.key.spendLimit.spentCents;
    expect((await agent.post("/tasks", taskInput({ maxBudgetCents: 4_000 }))).status).toBe(201);
    expectError(await agent.post("/tasks", taskInput({ maxBudgetCents: 4_000 })), "spend_limit");
    const asked = askedIn(await agent.post("/tasks", taskInput({ maxBudgetCents: 9_000 })));
    expect(await spent()).toBe(4_000);
    expect((await approve(owner, asked.id)).body.approval.status).toBe("approved");
    expect(await spent()).toBe(13_000);
    expectError(await agent.post("/tasks", taskInput({ maxBudgetCents: 1 })), "spend_limit");
    await expectBooksToBalance(service);
  });

  test("a dry run says what it comes to and asks nobody", async () => {
    const { owner, agent } = await ownerAndAgent(service, 100);
    const answer = await agent.post("/tasks", taskInput({ maxBudgetCents: 9_000 }), undefined, { "dry-run": "true" });
    expectError(answer, "approval_required");
    expect(answer.body).toMatchObject({ approval: null, amountCents: 9_000, aboveCents: 100 });
    expect((await owner.get("/approvals")).body.approvals).toEqual([]);
  });
});

describe("one question", () => {
  test("the same input is the same approval, and other input for the same task supersedes it", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const task = await postTask(owner);
    const bids = await Promise.all(
      Array.from({ length: 2 }, async () => placeBid(await createPerson(service), task.id, { priceCents: 5_000 })),
    );
    const ask = (index: number, key?: string) => agent.post(`/tasks/${task.id}/award`, { bidId: bids[index]?.id }, key);
    const first = askedIn(await ask(0, "a"));
    expect(askedIn(await ask(0)).id).toBe(first.id);
    expect(askedIn(await ask(0, "b")).id).toBe(first.id);
    expectError(await ask(1, "a"), "idempotency_conflict");
    const second = askedIn(await ask(1));
    expect(second.id).not.toBe(first.id);
    expect(await readApproval(owner, first.id)).toMatchObject({ status: "superseded", decidedAt: expect.any(String) });
    expectError(await owner.post(`/approvals/${first.id}/approve`, { seen: "x" }), "wrong_status");
    // Its key is free again.
    expect(askedIn(await ask(1, "a")).id).toBe(second.id);
    const tasks = [taskInput({ title: "One" }), taskInput({ title: "Two" })];
    const asked = [];
    for (const input of tasks) asked.push(askedIn(await agent.post("/tasks", input)).id);
    expect(new Set(asked).size).toBe(2);
    const { approvals } = (await owner.get("/approvals?status=pending")).body;
    expect(approvals.map(({ id }: { id: string }) => id)).toEqual([asked[1], asked[0], second.id]);
  });

  test("of 20 requests at once, one question is made", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const input = taskInput();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => agent.post("/tasks", input, n % 2 ? `k${n}` : undefined)),
    );
    expect(new Set(answers.map((answer) => askedIn(answer).id)).size).toBe(1);
    expect((await owner.get("/approvals")).body.approvals).toHaveLength(1);
  });

  test("after a no, the same input is refused with its reason for 24 hours, and other input asks", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const input = taskInput();
    const asked = askedIn(await agent.post("/tasks", input, "once"));
    expectError(await owner.post(`/approvals/${asked.id}/decline`, {}), "invalid_input");
    const { body } = await owner.post(`/approvals/${asked.id}/decline`, { reason: "Too expensive." });
    expect(body.approval).toMatchObject({ status: "declined", reason: "Too expensive." });
    for (const key of ["once", "again", undefined]) {
      const refused = await agent.post("/tasks", input, key);
      expectError(refused, "approval_declined");
      expect(refused.body.approval).toEqual({ id: asked.id, reason: "Too expensive." });
    }
    askedIn(await agent.post("/tasks", taskInput({ title: "Another" }), "once"));
    await hours(24.1);
    expect(askedIn(await agent.post("/tasks", input)).id).not.toBe(asked.id);
  });

  test("at most 50 wait for an answer", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    await Promise.all(Array.from({ length: 50 }, (_, n) => agent.post("/tasks", taskInput({ title: `Task ${n}` }))));
    const refused = await agent.post("/tasks", taskInput({ title: "One more" }));
    expectError(refused, "limit_reached");
    expect(refused.body.limit).toBe(50);
    const [newest] = (await owner.get("/approvals?limit=1")).body.approvals;
    await owner.post(`/approvals/${newest.id}/decline`, { reason: "No." });
    askedIn(await agent.post("/tasks", taskInput({ title: "One more" })));
  });
});

describe("how a question ends without an answer", () => {
  const event = async (agent: Awaited<ReturnType<typeof createAgent>>) =>
    (await agent.get("/events?types=approval.decided")).body.events.map(
      (each: { data: { approval: object } }) => each.data.approval,
    );

  test("after 72 hours it has expired, before and after the sweep, and can be asked anew", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const input = taskInput();
    const asked = askedIn(await agent.post("/tasks", input, "key"));
    await hours(72.1);
    expect((await owner.get(`/approvals/${asked.id}`)).body).toMatchObject({ approval: { status: "expired" } });
    expectError(await owner.post(`/approvals/${asked.id}/approve`, { seen: "x" }), "wrong_status");
    expect((await owner.get("/approvals?status=expired")).body.approvals).toHaveLength(1);
    expect((await owner.get("/approvals?status=pending")).body.approvals).toEqual([]);
    expect(askedIn(await agent.post("/tasks", input, "key")).id).not.toBe(asked.id);
    // Two workers sweep at once.
    await Promise.all([sweepOnce(service.services), sweepOnce(service.services)]);
    const ended = await event(agent);
    expect(ended).toHaveLength(1);
    expect(ended).toMatchObject([{ id: asked.id, status: "expired", decidedBy: null }]);
  });

  test("it can be answered no longer than its key lives", async () => {
    const owner = await createPerson(service, { cents: 100_000 });
    const expiresAt = new Date(service.clock.now().getTime() + 3_600_000).toISOString();
    const agent = await createAgent(service, owner, 0, { expiresAt });
    const asked = askedIn(await agent.post("/tasks", taskInput()));
    expect(Date.parse(asked.expiresAt)).toBe(Date.parse(expiresAt));
    const { version: seen } = await readApproval(owner, asked.id);
    await hours(1.1);
    expectError(await owner.post(`/approvals/${asked.id}/approve`, { seen }), "wrong_status");
    expect((await readApproval(owner, asked.id)).status).toBe("void");
    expect((await owner.get("/me/tasks")).body.tasks).toEqual([]);
  });

  test("it is void once the key has ended, or the task", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const asked = askedIn(await agent.post("/tasks", taskInput()));
    const other = await createAgent(service, owner, 0);
    const task = await postTask(owner);
    const bid = await placeBid(await createPerson(service), task.id);
    const award = askedIn(await other.post(`/tasks/${task.id}/award`, { bidId: bid.id }, "key"));
    await owner.delete(`/keys/${agent.keyId}`);
    await owner.post(`/tasks/${task.id}/cancel`);
    for (const { id } of [asked, award]) {
      expect((await readApproval(owner, id)).status).toBe("void");
      expectError(await owner.post(`/approvals/${id}/approve`, { seen: "x" }), "wrong_status");
    }
    await sweepOnce(service.services);
    await sweepOnce(service.services);
    expect(await event(other)).toMatchObject([{ id: award.id, status: "void" }]);
    const free = await service.services.database.query(
      sql`SELECT 1 FROM idempotency_keys WHERE approval_id = ${award.id}::uuid`,
    );
    expect(free).toEqual([]);
  });
});
