import { expect, test } from "vitest";
import { useBuiltConsole } from "../console/visitor.ts";
import { sizeCheck } from "../factories/checks.ts";
import { createReachable, planMails, sendMails } from "../factories/mails.ts";
import { tellAll } from "../factories/notifications.ts";
import { cookieOf, createPerson, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, taskInput } from "../factories/tasks.ts";
import { app, clientsFile } from "../oauth/clientsFile.ts";
import { Browser, bearer, connectApp } from "../oauth/flow.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { expectError, expectErrorBody } from "../setup/expectError.ts";
import { listMails } from "../setup/mails.ts";
import { useService } from "../setup/testService.ts";
import { approve, askedIn, createAgent, ownerAndAgent, readApproval } from "./agents.ts";

/** What an agent, or somebody who has its key, tries instead of waiting for its owner. */

const service = useService({ mailbox: true, settings: { oauthClientsFile: clientsFile([app]) } });
useBuiltConsole();

const statusOf = async (owner: TestPerson, id: string) => (await readApproval(owner, id)).status;
const tasksOf = async (owner: TestPerson) => (await owner.get("/me/tasks")).body.tasks;

test("a connected app asks as a key does, and decides neither what it asks nor what others ask", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const asked = { clientId: app.client_id, redirectUri: "https://app.example/callback", resource: service.url };
  const scope = "task:write bid:write payouts:write agreement:write message:write";
  const { accessToken } = await connectApp(new Browser(service.url, owner.session), { ...asked, scope, state: "s" });
  const call = (method: string, path: string, body?: object) =>
    rest(service.url, method, path, { body, credentials: bearer(accessToken) });
  const own = askedIn(await call("POST", "/tasks", taskInput()));
  const other = askedIn(await agent.post("/tasks", taskInput()));
  for (const { id } of [own, other]) {
    const { version: seen } = await readApproval(owner, id);
    expectError(await call("POST", `/approvals/${id}/approve`, { seen }), "forbidden");
    expectError(await call("POST", `/approvals/${id}/decline`, { reason: "No." }), "forbidden");
    expect(await statusOf(owner, id)).toBe("pending");
  }
  expect((await call("GET", `/approvals/${own.id}`)).status).toBe(200);
  expectError(await call("GET", `/approvals/${other.id}`), "not_found");
  expect((await approve(owner, own.id)).body.approval.status).toBe("approved");
});

test("a batch of typed RPC does not approve in the same breath what it asks", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const input = taskInput();
  const { id } = askedIn(await agent.post("/tasks", input));
  const { version: seen } = await readApproval(owner, id);
  const path = "/trpc/tasks.create,approvals.approve,tasks.create?batch=1";
  const body = { 0: input, 1: { id, seen }, 2: input };
  const answer = await rest(service.url, "POST", path, { body, credentials: agent.credentials });
  const codes = answer.body.map((each: { error: { data: { error: string } } }) => each.error.data.error);
  expect(codes).toEqual(["approval_required", "forbidden", "approval_required"]);
  expect(await statusOf(owner, id)).toBe("pending");
  expect(await tasksOf(owner)).toEqual([]);
});

test("a request that was tried is not done by its key, and trying to approve is refused", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const input = taskInput();
  expectError(await agent.post("/tasks", input, "tried", { "dry-run": "true" }), "approval_required");
  const { id } = askedIn(await agent.post("/tasks", input, "tried"));
  const { version: seen } = await readApproval(owner, id);
  const headers = { "dry-run": "true" };
  const tried = await rest(service.url, "POST", `/approvals/${id}/approve`, {
    ...{ body: { seen }, credentials: owner.session, headers },
  });
  expectError(tried, "invalid_input");
  expect(await statusOf(owner, id)).toBe("pending");
  const declining = { body: { reason: "No." }, credentials: owner.session, headers };
  expect((await rest(service.url, "POST", `/approvals/${id}/decline`, declining)).status).toBe(200);
  expect(await statusOf(owner, id)).toBe("pending");
  expect(await tasksOf(owner)).toEqual([]);
});

test("an approved request is not repeated into another one: not with its key, nor with another", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const input = taskInput({ maxBudgetCents: 5_000 });
  const { id } = askedIn(await agent.post("/tasks", input, "once"));
  await approve(owner, id);
  expectError(await agent.post("/tasks", taskInput({ maxBudgetCents: 9_000 }), "once"), "idempotency_conflict");
  expectError(
    await agent.patch(`/tasks/${(await tasksOf(owner))[0].id}`, { title: "New" }, "once"),
    "idempotency_conflict",
  );
  // A key that was not used for asking is a new request.
  expect(askedIn(await agent.post("/tasks", input, "twice")).id).not.toBe(id);
  expect(askedIn(await agent.post("/tasks", input)).id).not.toBe(id);
  expect(await tasksOf(owner)).toHaveLength(1);
  expect((await owner.get("/wallet")).body.heldCents).toBe(5_000);
});

test("a change after the approval asks for itself, and one before it is seen", async () => {
  const { owner, agent } = await ownerAndAgent(service, 1_000);
  const created = askedIn(await agent.post("/tasks", taskInput({ maxBudgetCents: 5_000 }), "new"));
  await approve(owner, created.id);
  const [task] = await tasksOf(owner);
  askedIn(await agent.patch(`/tasks/${task.id}`, { maxBudgetCents: 5_001 }));
  const bidder = await createPerson(service);
  const bid = await placeBid(bidder, task.id, { priceCents: 2_000 });
  const { id } = askedIn(await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id }));
  const { version: seen } = await readApproval(owner, id);
  expect((await agent.patch(`/tasks/${task.id}`, { description: "Twice as much work." })).status).toBe(200);
  const refused = await owner.post(`/approvals/${id}/approve`, { seen });
  expectError(refused, "approval_changed");
  expect((await owner.get(`/tasks/${task.id}`)).body.task.status).toBe("open");
});

test("checks that were loosened after asking to be paid by them are seen before the approval", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const task = await postTask(owner, { checks: [sizeCheck] });
  const { id } = askedIn(await agent.patch(`/tasks/${task.id}`, { acceptOnChecks: { afterMinutes: 0 } }));
  const { version: seen } = await readApproval(owner, id);
  // It changes nothing about who pays, so the key need not ask.
  const looser = { ...sizeCheck, maxBytes: 2_000_000_000 };
  expect((await agent.patch(`/tasks/${task.id}`, { checks: [looser] })).status).toBe(200);
  expectError(await owner.post(`/approvals/${id}/approve`, { seen }), "approval_changed");
  expect((await owner.get(`/tasks/${task.id}`)).body.task.acceptOnChecks).toBeNull();
  expect((await approve(owner, id)).body.approval.status).toBe("approved");
});

test("a price that was lowered to pass and raised again asks again", async () => {
  const { owner, agent } = await ownerAndAgent(service, 3_000);
  const bidder = await createPerson(service);
  const task = await postTask(owner);
  const bid = await placeBid(bidder, task.id, { priceCents: 3_000 });
  const award = { bidId: bid.id, expectedPriceCents: 3_000 };
  const tried = await agent.post(`/tasks/${task.id}/award`, award, undefined, { "dry-run": "true" });
  expect(tried.status).toBe(200);
  await bidder.patch(`/bids/${bid.id}`, { priceCents: 9_000 });
  expectError(await agent.post(`/tasks/${task.id}/award`, award), "bid_changed");
  askedIn(await agent.post(`/tasks/${task.id}/award`, { bidId: bid.id }));
  expect((await owner.get(`/tasks/${task.id}`)).body.task.status).toBe("open");
});

test("a cookie that was planted before its owner signed in decides nothing afterwards", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const attacker = await createPerson(service);
  const { id } = askedIn(await agent.post("/tasks", taskInput()));
  const { version: seen } = await readApproval(owner, id);
  const { email, password } = owner;
  const login = await rest(service.url, "POST", "/auth/login", {
    ...{ body: { email, password }, credentials: attacker.session },
  });
  expect(login.status).toBe(200);
  const session = cookieOf(login);
  expect(session).not.toEqual(attacker.session);
  expectError(await attacker.get(`/approvals/${id}`), "not_found");
  expectError(await attacker.post(`/approvals/${id}/approve`, { seen }), "not_found");
  const read = await rest(service.url, "GET", `/approvals/${id}`, { credentials: session });
  expect(read.body.approval.status).toBe("pending");
});

test("no page of approvals can be framed, and nothing but a POST decides", async () => {
  const { owner, agent } = await ownerAndAgent(service, 0);
  const { id, url } = askedIn(await agent.post("/tasks", taskInput()));
  const { version } = await readApproval(owner, id);
  const credentials = owner.session;
  for (const path of ["/app/approvals", new URL(url).pathname, "/app/keys"]) {
    const page = await rest(service.url, "GET", path, { credentials });
    expect([page.status, page.headers.get("content-security-policy")]).toEqual([
      200,
      expect.stringContaining("frame-ancestors 'none'"),
    ]);
  }
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE"]) {
    for (const action of ["approve", "decline"]) {
      const path = `/approvals/${id}/${action}?seen=${encodeURIComponent(version)}&reason=No`;
      expect((await rest(service.url, method, path, { credentials })).status).toBe(405);
    }
  }
  const rpc = `/trpc/approvals.approve?input=${encodeURIComponent(JSON.stringify({ id, seen: version }))}`;
  expectErrorBody((await rest(service.url, "GET", rpc, { credentials })).body.error.data, "method_not_allowed");
  // A form of another site can send this without asking first.
  const form = await fetch(`${service.url}/approvals/${id}/approve`, {
    ...{ method: "POST", body: new URLSearchParams({ seen: version }), headers: { ...credentials } },
  });
  expect(form.status).toBeGreaterThanOrEqual(400);
  expect(await statusOf(owner, id)).toBe("pending");
});

test("no address in the mail about it decides, whoever opens it", async () => {
  const owner = await createReachable(service, { cents: 100_000 });
  const agent = await createAgent(service, owner, 0);
  const { id, url } = askedIn(await agent.post("/tasks", taskInput()));
  await tellAll(service);
  await planMails(service, owner);
  await sendMails(service, owner);
  const mails = (await listMails(service)).filter(({ to }) => to.includes(owner.email));
  const addresses = mails.flatMap(({ text }) => text.match(/https?:\/\/[^\s<>")]+/g) ?? []);
  expect(addresses).toContain(url);
  for (const address of new Set(addresses)) {
    const { pathname, search } = new URL(address);
    for (const credentials of [owner.session, {}]) {
      for (const method of ["GET", "HEAD"]) await rest(service.url, method, pathname + search, { credentials });
    }
  }
  expect(await statusOf(owner, id)).toBe("pending");
  expect(await tasksOf(owner)).toEqual([]);
  await expectBooksToBalance(service);
});

test("many small raises and requests at once pass no more than the amount", async () => {
  const { owner, agent } = await ownerAndAgent(service, 5_000);
  const task = await postTask(owner, { maxBudgetCents: 4_000 });
  const raises = await Promise.all(
    Array.from({ length: 20 }, (_, n) => agent.patch(`/tasks/${task.id}`, { maxBudgetCents: 4_500 + n * 100 })),
  );
  expect(raises.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, (_, n) => (n <= 5 ? 200 : 403)));
  expect((await owner.get(`/tasks/${task.id}`)).body.task.maxBudgetCents).toBeLessThanOrEqual(5_000);
  const posts = await Promise.all(
    Array.from({ length: 10 }, (_, n) => agent.post("/tasks", taskInput({ maxBudgetCents: 4_996 + n }))),
  );
  expect(posts.filter(({ status }) => status === 201)).toHaveLength(5);
  for (const { body } of posts.slice(5)) expectErrorBody(body, "approval_required");
  await expectBooksToBalance(service);
});
