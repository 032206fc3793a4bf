import { describe, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createModerator } from "../factories/moderators.ts";
import { tellAll } from "../factories/notifications.ts";
import { createPerson } from "../factories/people.ts";
import { setUpTotp } from "../factories/secondFactors.ts";
import { deliveredTask, placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { type Answer, rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";
import { approve, askedIn, createAgent, ownerAndAgent, readApproval } from "./agents.ts";

const service = useService();

describe("once", () => {
  test("50 approvals at once, with repeats by the agent, do it once, and each repeat gets its answer", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const input = taskInput({ maxBudgetCents: 5_000 });
    const asked = askedIn(await agent.post("/tasks", input, "key"));
    const { version } = await readApproval(owner, asked.id);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        n % 2 === 0
          ? owner.post(`/approvals/${asked.id}/approve`, { seen: version })
          : agent.post("/tasks", input, "key"),
      ),
    );
    const decided = answers.filter((_, n) => n % 2 === 0);
    expect(decided.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of decided.filter(({ status }) => status !== 200)) expectError(answer, "wrong_status");
    for (const { status } of answers.filter((_, n) => n % 2 === 1)) expect([201, 403]).toContain(status);
    const repeat = await agent.post("/tasks", input, "key");
    const { result, status } = await readApproval(owner, asked.id);
    expect([status, repeat.status, repeat.body]).toEqual(["approved", 201, result]);
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    expect((await owner.get("/me/tasks")).body.tasks).toHaveLength(1);
    expect((await owner.get("/approvals")).body.approvals).toHaveLength(1);
    expect((await owner.get("/wallet")).body.heldCents).toBe(5_000);
    await expectBooksToBalance(service);
  });

  test("every key with which it was asked gets the answer, and the actor is the key, approved by its owner", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const { task } = await deliveredTask(owner, await createPerson(service));
    const path = `/tasks/${task.id}/accept`;
    const asked = askedIn(await agent.post(path, {}, "one"));
    for (const key of ["two", undefined]) askedIn(await agent.post(path, {}, key));
    const { body } = await approve(owner, asked.id);
    expect(body.approval).toMatchObject({ status: "approved", result: { task: { status: "accepted" } } });
    for (const key of ["one", "two"]) expect((await agent.post(path, {}, key)).body).toEqual(body.approval.result);
    expectError(await agent.post(path), "wrong_status");
    const actors = await service.services.database.query(sql`
      SELECT actor_id AS "userId", actor_key_id AS "keyId", approved_by AS "approvedBy" FROM events
      WHERE type = 'task.accepted' AND task_id = ${task.id}::uuid`);
    expect(actors).toEqual([{ userId: owner.id, keyId: agent.keyId, approvedBy: owner.id }]);
  });

  test("what is refused by then is failed, with its reason, and the key is free again", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const asked = askedIn(await agent.post("/tasks", taskInput({ maxBudgetCents: 60_000 }), "key"));
    await postTask(owner, { maxBudgetCents: 60_000 });
    const { status, body } = await approve(owner, asked.id);
    expect([status, body.approval]).toMatchObject([
      200,
      { status: "failed", result: null, error: { error: "insufficient_funds", availableCents: 40_000 } },
    ]);
    askedIn(await agent.post("/tasks", taskInput({ maxBudgetCents: 40_000 }), "key"));
    await expectBooksToBalance(service);
  });
});

describe("what the person sees is what happens", () => {
  test("a bid or task that has changed since is shown anew, and nothing is done", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const bidder = await createPerson(service);
    const task = await postTask(owner);
    const bid = await placeBid(bidder, task.id, { priceCents: 5_000, notes: "Soon." });
    const { id } = askedIn(await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id }));
    const changes = [
      () => bidder.patch(`/bids/${bid.id}`, { priceCents: 6_000 }),
      () => bidder.patch(`/bids/${bid.id}`, { notes: "Later." }),
      () => bidder.patch(`/bids/${bid.id}`, { etaHours: 99 }),
      () => owner.patch(`/tasks/${task.id}`, { description: "Something else." }),
    ];
    for (const change of changes) {
      const { version } = await readApproval(owner, id);
      expect((await change()).status).toBe(200);
      const answer = await owner.post(`/approvals/${id}/approve`, { seen: version });
      expectError(answer, "approval_changed");
      expect(answer.body.approval).toMatchObject({ id, status: "pending", amountCents: 6_000 });
      expect(answer.body.approval.version).not.toBe(version);
    }
    expectError(await owner.post(`/approvals/${id}/approve`, {}), "invalid_input");
    const { version } = await readApproval(owner, id);
    await owner.post("/tasks", taskInput({ maxBudgetCents: 100 }));
    expect((await readApproval(owner, id)).version).toBe(version);
    expect((await approve(owner, id)).body.approval.status).toBe("approved");
  });
});

describe("no way around", () => {
  test("neither its own key nor another, another person nor a moderator decides", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const other = await createAgent(service, owner, null);
    const { id } = askedIn(await agent.post("/tasks", taskInput()));
    const { version } = await readApproval(owner, id);
    for (const key of [agent, other]) {
      expectError(await key.post(`/approvals/${id}/approve`, { seen: version }), "forbidden");
      expectError(await key.post(`/approvals/${id}/decline`, { reason: "No." }), "forbidden");
    }
    expect((await agent.get(`/approvals/${id}`)).status).toBe(200);
    expectError(await other.get(`/approvals/${id}`), "not_found");
    expect((await other.get("/approvals")).body.approvals).toEqual([]);
    for (const stranger of [await createPerson(service), await createModerator(service)]) {
      expectError(await stranger.get(`/approvals/${id}`), "not_found");
      expectError(await stranger.post(`/approvals/${id}/approve`, { seen: version }), "not_found");
      expectError(await stranger.post(`/approvals/${id}/decline`, { reason: "No." }), "not_found");
    }
    expect((await readApproval(owner, id)).status).toBe("pending");
  });

  test("other keys do not read in the log what one has asked, and it does", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const other = await createAgent(service, owner, null);
    const { id } = askedIn(await agent.post("/tasks", taskInput()));
    const { nextCursor: after } = (await other.get("/events?after=latest")).body;
    const waiting = other.get(`/events?after=${after}&wait=2&types=approval.decided`);
    await owner.post(`/approvals/${id}/decline`, { reason: "No." });
    const types = "types=approval.requested,approval.decided";
    const read = async (by: { get(path: string): Promise<{ body: { events: object[] } }> }) =>
      (await by.get(`/events?${types}`)).body.events.length;
    expect([await read(owner), await read(agent), await read(other)]).toEqual([2, 2, 0]);
    expect((await waiting).body.events).toEqual([]);
    await tellAll(service);
    const told = async (by: { get(path: string): Promise<Answer> }) => {
      const { notifications } = (await by.get("/notifications")).body;
      const types = notifications.map(({ type }: { type: string }) => type);
      const { unreadCount } = (await by.get("/auth/me")).body;
      return [types.includes("approval.requested"), unreadCount === notifications.length];
    };
    expect([await told(owner), await told(agent), await told(other)]).toEqual([
      [true, true],
      [true, true],
      [false, true],
    ]);
  });

  test("a key neither has what other keys ask sent to it, nor moves an endpoint that has it", async () => {
    const owner = await createPerson(service);
    const key = await owner.post("/keys", { label: "hooks", scopes: ["webhook:write"] });
    const credentials = { authorization: `Bearer ${key.body.raw}` };
    const asKey = (method: "POST" | "PATCH", path: string, body: object) =>
      rest(service.url, method, path, { body, credentials });
    const url = "https://hooks.example.com/one";
    const logEvents = ["bid.rejected", "approval.requested"];
    expectError(await asKey("POST", "/webhooks", { url, events: [], logEvents }), "forbidden");
    const { id } = (await owner.post("/webhooks", { url, events: [], logEvents })).body;
    for (const changes of [{ url: "https://hooks.example.com/two" }, { logEvents: ["bid.rejected"] }]) {
      expectError(await asKey("PATCH", `/webhooks/${id}`, changes), "forbidden");
    }
    expect((await asKey("PATCH", `/webhooks/${id}`, { active: false })).status).toBe(200);
    const own = await asKey("POST", "/webhooks", { url, events: [], logEvents: ["bid.rejected"] });
    expectError(await asKey("PATCH", `/webhooks/${own.body.id}`, { logEvents }), "forbidden");
    expect((await owner.patch(`/webhooks/${id}`, { url: "https://hooks.example.com/two" })).body.logEvents).toEqual(
      logEvents,
    );
  });

  test("a page of another site cannot decide with the cookie, nor frame the page that does", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const { id, url } = askedIn(await agent.post("/tasks", taskInput()));
    const { version: seen } = await readApproval(owner, id);
    const foreign = await rest(service.url, "POST", `/approvals/${id}/approve`, {
      ...{ body: { seen }, credentials: owner.session, headers: { origin: "https://evil.example" } },
    });
    expectError(foreign, "forbidden");
    // The link of a mail only shows the page.
    const page = await rest(service.url, "GET", new URL(url).pathname, { credentials: owner.session });
    expect(page.headers.get("content-security-policy")).toMatch(/frame-ancestors 'none'/);
    expect((await readApproval(owner, id)).status).toBe("pending");
  });

  test("with a second factor, approving takes a fresh code, and declining none", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const { recoveryCodes } = await setUpTotp(service, owner);
    const { id } = askedIn(await agent.post("/tasks", taskInput()));
    for (const code of [undefined, "000000"]) {
      expectError(await approve(owner, id, code === undefined ? {} : { code }), "second_factor_required");
    }
    const [code] = recoveryCodes;
    expect((await approve(owner, id, { code })).body.approval.status).toBe("approved");
    const again = askedIn(await agent.post("/tasks", taskInput({ title: "Another" })));
    expectError(await approve(owner, again.id, { code }), "second_factor_required");
    expect((await owner.post(`/approvals/${again.id}/decline`, { reason: "No." })).status).toBe(200);
  });

  test("a session or another key cannot take over the Idempotency-Key of a question", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const other = await createAgent(service, owner, null);
    const input = taskInput();
    askedIn(await agent.post("/tasks", input, "key"));
    expectError(await other.post("/tasks", input, "key"), "idempotency_conflict");
    const headers = { "idempotency-key": "key" };
    const answer = await rest(service.url, "POST", "/tasks", { body: input, credentials: owner.session, headers });
    expectError(answer, "idempotency_conflict");
    expect((await owner.get("/me/tasks")).body.tasks).toEqual([]);
  });

  test("each call of a batch asks for itself", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const body = { 0: taskInput({ title: "One" }), 1: taskInput({ title: "Two" }) };
    const credentials = agent.credentials;
    const answer = await rest(service.url, "POST", "/trpc/tasks.create,tasks.create?batch=1", { body, credentials });
    expect(answer.body.map((each: { error: { data: { error: string } } }) => each.error.data.error)).toEqual([
      "approval_required",
      "approval_required",
    ]);
    expect((await owner.get("/me/tasks")).body.tasks).toEqual([]);
  });

  test("awarding alone does not let a key accept alone", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const bidder = await createPerson(service);
    const task = await postTask(owner);
    const bid = await placeBid(bidder, task.id);
    await approve(owner, askedIn(await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id })).id);
    const { task: delivered } = await deliveredTask(owner, bidder);
    askedIn(await agent.post(`/tasks/${delivered.id}/accept`));
  });

  test("a suspended owner's approvals are void", async () => {
    const { owner, agent } = await ownerAndAgent(service, 0);
    const { id } = askedIn(await agent.post("/tasks", taskInput()));
    const moderator = await createModerator(service);
    await moderator.post(`/users/${owner.id}/suspend`, { reason: "Spam." });
    expectError(await owner.post(`/approvals/${id}/approve`, { seen: "x" }), "unauthenticated");
    await moderator.post(`/users/${owner.id}/reinstate`, { reason: "A mistake." });
    const { email, password } = owner;
    const login = await rest(service.url, "POST", "/auth/login", { body: { email, password } });
    const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const read = await rest(service.url, "GET", `/approvals/${id}`, { credentials: { cookie } });
    expect(read.body.approval.status).toBe("void");
  });
});
