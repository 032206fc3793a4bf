import { describe, expect, test } from "vitest";
import type { ErrorCode } from "../../server/errors.ts";
import { type ApprovableOperation, approvableOperations } from "../../server/schemas/approval.ts";
import { sql } from "../../server/store/connection.ts";
import { awardedWithChecks, deliverJudged, externalCheck } from "../factories/checks.ts";
import { createPayee } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, placeBid, postTask, propose, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { callOverRest, callOverRpc, type Input, type Outcome, routeOf } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";
import { approve, askedIn, createAgent, ownerAndAgent, readApproval, type TestAgent } from "./agents.ts";

const service = useService();

interface Arranged {
  owner: TestPerson;
  agent: TestAgent;
  input: Input;
}

interface Arrangement {
  amountCents: number;
  /** What the same request is answered with once nobody can approve it any more. */
  later: ErrorCode;
  arrange(aboveCents: number): Promise<Arranged>;
}

const settle = { kind: "settle", bidderCents: 3_000, reason: "We both want to end this." };

const arrangements: Record<ApprovableOperation, Arrangement> = {
  "tasks.create": {
    ...{ amountCents: 5_000, later: "approval_required" },
    arrange: async (aboveCents) => ({
      ...(await ownerAndAgent(service, aboveCents)),
      input: taskInput({ maxBudgetCents: 5_000 }),
    }),
  },
  "tasks.update": {
    ...{ amountCents: 5_000, later: "approval_required" },
    async arrange(aboveCents) {
      const { owner, agent } = await ownerAndAgent(service, aboveCents);
      const task = await postTask(owner, { maxBudgetCents: 4_000 });
      return { owner, agent, input: { id: task.id, maxBudgetCents: 5_000 } };
    },
  },
  "tasks.award": {
    ...{ amountCents: 8_000, later: "approval_required" },
    async arrange(aboveCents) {
      const { owner, agent } = await ownerAndAgent(service, aboveCents);
      const task = await postTask(owner);
      const bid = await placeBid(await createPerson(service), task.id, { priceCents: 8_000 });
      return { owner, agent, input: { id: task.id, bidId: bid.id } };
    },
  },
  "tasks.accept": {
    ...{ amountCents: 8_000, later: "wrong_status" },
    async arrange(aboveCents) {
      const { owner, agent } = await ownerAndAgent(service, aboveCents);
      const { task } = await deliveredTask(owner, await createPerson(service));
      return { owner, agent, input: { id: task.id } };
    },
  },
  "payouts.create": {
    ...{ amountCents: 5_000, later: "approval_required" },
    async arrange(aboveCents) {
      const owner = await createPayee(service, { cents: 50_000 });
      return { owner, agent: await createAgent(service, owner, aboveCents), input: { amountCents: 5_000 } };
    },
  },
  "agreements.propose": {
    ...{ amountCents: 3_000, later: "wrong_status" },
    async arrange(aboveCents) {
      const { owner, agent } = await ownerAndAgent(service, aboveCents);
      const { task } = await deliveredTask(owner, await createPerson(service));
      return { owner, agent, input: { id: task.id, ...settle } };
    },
  },
  "agreements.accept": {
    ...{ amountCents: 3_000, later: "wrong_status" },
    async arrange(aboveCents) {
      const { owner, agent } = await ownerAndAgent(service, aboveCents);
      const bidder = await createPerson(service);
      const { task } = await deliveredTask(owner, bidder);
      return { owner, agent, input: { id: (await propose(bidder, task.id, settle)).id } };
    },
  },
  "deliveries.report": {
    ...{ amountCents: 8_000, later: "wrong_status" },
    async arrange(aboveCents) {
      const { owner, agent } = await ownerAndAgent(service, aboveCents);
      const bidder = await createPerson(service);
      const agreed = { checks: [externalCheck(agent.keyId)], acceptOnChecks: { afterMinutes: 0 } };
      const { bid } = await awardedWithChecks(owner, bidder, agreed);
      const delivery = await deliverJudged(service.services, bidder, bid.id);
      return { owner, agent, input: { id: delivery.id, name: "Tests", conclusion: "passed" } };
    },
  },
};

const refusalIn = ({ status, body }: Outcome, code: ErrorCode) => {
  expectErrorBody(body, code);
  return { status, ...body };
};

/** Questions of a key that wait, as many as may. */
const fillUp = (owner: TestPerson, { keyId }: TestAgent) =>
  service.services.database.query(sql`
    INSERT INTO approvals (user_id, key_id, operation, input, input_hash, amount_cents, summary, version, created_at, expires_at)
    SELECT ${owner.id}::uuid, ${keyId}::uuid, 'tasks.create', '{}', int4send(n), 1, '', '',
           at - n * interval '1 minute', at + interval '1 hour'
    FROM generate_series(1, 50) n, (SELECT ${service.clock.now().toISOString()}::timestamptz AS at) moment`);

describe.each(approvableOperations)("%s", (operation) => {
  const { amountCents, later, arrange } = arrangements[operation];
  const route = routeOf(operation);
  const overRest = ({ agent, input }: Arranged, headers: Record<string, string> = {}) =>
    callOverRest(service.url, route, input, { ...agent.credentials, ...headers });
  const overRpc = ({ agent, input }: Arranged) => callOverRpc(service.url, route, input, agent.credentials);

  test("passes at its amount, and asks for a cent more, over both transports; what is approved is done once", async () => {
    expect((await overRest(await arrange(amountCents))).status).toBe(route.status);
    const asking = await arrange(amountCents - 1);
    const { owner } = asking;
    const key = { "idempotency-key": "asked" };
    const { id } = askedIn(await overRest(asking, key));
    expect(askedIn(await overRpc(asking)).id).toBe(id);
    expect(await readApproval(owner, id)).toMatchObject({ operation, amountCents, status: "pending", decidedBy: null });
    const before = (await owner.get("/wallet")).body;
    const { body } = await approve(owner, id);
    expect(body.approval).toMatchObject({ status: "approved", amountCents, decidedBy: owner.id });
    const after = (await owner.get("/wallet")).body;
    refusalIn(await owner.post(`/approvals/${id}/decline`, { reason: "Too late." }), "wrong_status");
    const repeated = await overRest(asking, key);
    expect([repeated.status, repeated.body]).toEqual([route.status, body.approval.result]);
    expect((await owner.get("/wallet")).body).toEqual(after);
    if (operation === "tasks.create") expect(after.heldCents - before.heldCents).toBe(amountCents);
    await expectBooksToBalance(service);
  });

  test("after a no, the same request is refused with the reason, over both transports and with any key", async () => {
    const asking = await arrange(amountCents - 1);
    const { id } = askedIn(await overRest(asking, { "idempotency-key": "asked" }));
    await asking.owner.post(`/approvals/${id}/decline`, { reason: "Not now." });
    for (const again of [
      await overRest(asking),
      await overRest(asking, { "idempotency-key": "asked" }),
      await overRest(asking, { "idempotency-key": "another" }),
      await overRpc(asking),
    ]) {
      expect(refusalIn(again, "approval_declined")).toMatchObject({
        status: 403,
        approval: { id, reason: "Not now." },
      });
    }
    expect(await readApproval(asking.owner, id)).toMatchObject({ status: "declined", decidedBy: asking.owner.id });
  });

  test("when 50 questions wait, it is refused", async () => {
    const asking = await arrange(amountCents - 1);
    await fillUp(asking.owner, asking.agent);
    expect(refusalIn(await overRest(asking), "limit_reached")).toMatchObject({ status: 409, limit: 50 });
  });

  test("what nobody has answered in time cannot be approved any more", async () => {
    const asking = await arrange(amountCents - 1);
    const { id, expiresAt } = askedIn(await overRest(asking));
    const { version } = await readApproval(asking.owner, id);
    service.clock.advance((Date.parse(expiresAt) - service.clock.now().getTime()) / 1_000 + 1);
    const refused = await asking.owner.post(`/approvals/${id}/approve`, { seen: version });
    expect(refusalIn(refused, "wrong_status").status).toBe(409);
    expect(await readApproval(asking.owner, id)).toMatchObject({ status: "expired", decidedBy: null });
    const again = refusalIn(await overRest(asking), later);
    expect(again.approval?.id).not.toBe(id);
  });
});
