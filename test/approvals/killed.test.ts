import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { sql } from "../../server/store/connection.ts";
import { createPayee } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { expectError } from "../setup/expectError.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";
import { useService } from "../setup/testService.ts";
import { askedIn, createAgent, readApproval } from "./agents.ts";

/** What becomes of a decision whose process is killed before its answer, with real processes. */

const service = useService();
const { start } = useProcesses(afterAll);

/** A process on the test's backing services. */
function startProcess(role: "api" | "worker"): Promise<ServiceProcess> {
  return start({
    ...{ ROLE: role, DATABASE_URL: service.databaseUrl },
    ...{ S3_ENDPOINT: "http://127.0.0.1:9", S3_BUCKET: "b", S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" },
    SESSION_SECRET: "a secret of the tests of 32 characters or more",
    STRIPE_SECRET_KEY: "sk_test_tests",
    STRIPE_WEBHOOK_SECRET: "whsec_tests",
    STRIPE_API_BASE: service.processorUrl,
  });
}

async function startApi(): Promise<ServiceProcess> {
  const api = await startProcess("api");
  await api.ready();
  return api;
}

/** Holds these rows locked while `work` runs. */
async function holding<Result>(lock: string, values: unknown[], work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: service.ownerUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    const { rowCount } = await client.query(lock, values);
    expect(rowCount).toBe(1);
    return await work();
  } finally {
    await client.query("ROLLBACK");
    await client.end();
  }
}

const countWaiting = async () => {
  const [row] = await service.owner.query<{ count: number }>(sql`
    SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`);
  return row?.count ?? 0;
};

/** The process is killed while its decision waits for a lock, and nobody gets an answer from it. */
async function killWhileDeciding(
  api: ServiceProcess,
  owner: TestPerson,
  { id, version }: { id: string; version: string },
  [lock, values]: [string, unknown[]],
): Promise<void> {
  await holding(lock, values, async () => {
    const deciding = rest(api.url, "POST", `/approvals/${id}/approve`, {
      ...{ body: { seen: version }, credentials: owner.session },
    }).catch(() => null);
    await expect.poll(countWaiting, { timeout: 20_000 }).toBe(1);
    expect(await api.stop("SIGKILL")).toMatchObject({ code: "SIGKILL" });
    expect(await deciding).toBeNull();
  });
  await expect.poll(countWaiting, { timeout: 20_000 }).toBe(0);
}

const decideAt = (url: string, owner: TestPerson, { id, version }: { id: string; version: string }) =>
  rest(url, "POST", `/approvals/${id}/approve`, { body: { seen: version }, credentials: owner.session });

const approvalLock = "SELECT 1 FROM approvals WHERE id = $1 FOR UPDATE";
const walletLock = "SELECT 1 FROM wallets WHERE user_id = $1 FOR UPDATE";

test("a process that is killed before or in the commit of a decision leaves it undecided or done, and it is done once", {
  timeout: 300_000,
}, async () => {
  for (const place of ["before", "in the commit"] as const) {
    const owner = await createPerson(service, { cents: 20_000 });
    const agent = await createAgent(service, owner, 0);
    const input = taskInput({ maxBudgetCents: 6_000 });
    const { id } = askedIn(await agent.post("/tasks", input, "once"));
    const { version } = await readApproval(owner, id);
    const [first, second] = await Promise.all([startApi(), startApi()]);
    const lock: [string, unknown[]] = place === "before" ? [approvalLock, [id]] : [walletLock, [owner.id]];
    await killWhileDeciding(first, owner, { id, version }, lock);
    // Postgres carries on with what it has got: the decision is whole, or has not happened.
    const { status } = await readApproval(owner, id);
    expect(["pending", "approved"]).toContain(status);
    if (place === "before") expect(status).toBe("pending");
    const decided = await Promise.all(Array.from({ length: 5 }, () => decideAt(second.url, owner, { id, version })));
    const done = decided.filter((answer) => answer.status === 200);
    expect(done).toHaveLength(status === "pending" ? 1 : 0);
    for (const answer of decided.filter((each) => !done.includes(each))) expectError(answer, "wrong_status");
    const headers = { "idempotency-key": "once" };
    const repeated = await rest(second.url, "POST", "/tasks", { body: input, credentials: agent.credentials, headers });
    const { result } = await readApproval(owner, id);
    expect([repeated.status, repeated.body]).toEqual([201, result]);
    expect((await owner.get("/me/tasks")).body.tasks).toHaveLength(1);
    expect((await owner.get("/wallet")).body).toEqual({ availableCents: 14_000, heldCents: 6_000 });
    await second.stop();
  }
  await expectBooksToBalance(service);
});

test("if the money has gone after the kill, the decision is failed with its reason", { timeout: 300_000 }, async () => {
  const owner = await createPerson(service, { cents: 10_000 });
  const agent = await createAgent(service, owner, 0);
  const input = taskInput({ maxBudgetCents: 6_000 });
  const { id } = askedIn(await agent.post("/tasks", input, "once"));
  const { version } = await readApproval(owner, id);
  const [first, second] = await Promise.all([startApi(), startApi()]);
  await killWhileDeciding(first, owner, { id, version }, [approvalLock, [id]]);
  expect((await owner.post("/tasks", taskInput({ maxBudgetCents: 7_000 }))).status).toBe(201);
  const { status, body } = await decideAt(second.url, owner, { id, version });
  expect([status, body.approval]).toMatchObject([
    200,
    { status: "failed", decidedBy: owner.id, error: { error: "insufficient_funds", availableCents: 3_000 } },
  ]);
  const headers = { "idempotency-key": "once" };
  const repeated = await rest(second.url, "POST", "/tasks", { body: input, credentials: agent.credentials, headers });
  expectError(repeated, "insufficient_funds");
  await expectBooksToBalance(service);
});

test("a payout that was approved is paid once by two workers, one of which is killed, and ends are told once", {
  timeout: 300_000,
}, async () => {
  const payee = await createPayee(service, { cents: 50_000 });
  const agent = await createAgent(service, payee, 1_000);
  const { id } = askedIn(await agent.post("/payouts", { amountCents: 20_000 }, "pay"));
  const { version } = await readApproval(payee, id);
  const [api, ...workers] = await Promise.all([startApi(), startProcess("worker"), startProcess("worker")]);
  await Promise.all(workers.map((worker) => worker.ready()));
  await killWhileDeciding(api, payee, { id, version }, [walletLock, [payee.id]]);
  await decideAt(service.url, payee, { id, version });
  const [victim] = workers;
  expect(await victim?.stop("SIGKILL")).toMatchObject({ code: "SIGKILL" });
  const payouts = async () => (await payee.get("/payouts")).body.payouts;
  await expect.poll(async () => (await payouts())[0]?.status, { timeout: 120_000 }).toBe("paid");
  expect(await payouts()).toHaveLength(1);
  const repeated = await agent.post("/payouts", { amountCents: 20_000 }, "pay");
  expect([repeated.status, repeated.body]).toEqual([202, (await readApproval(payee, id)).result]);
  expect((await payee.get("/wallet")).body).toEqual({ availableCents: 30_000, heldCents: 0 });
  const types = "types=approval.decided";
  const told = () => agent.get(`/events?${types}`).then(({ body }) => body.events);
  await expect.poll(told, { timeout: 20_000 }).toHaveLength(1);
  await expectBooksToBalance(service);
});
