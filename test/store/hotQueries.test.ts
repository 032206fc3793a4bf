import { beforeAll, describe, expect, test } from "vitest";
import { pruneReports } from "../../server/audit/nightly.ts";
import { pruneAccounts } from "../../server/auth/prune.ts";
import { pruneEvents } from "../../server/events/prune.ts";
import { sweepOnce } from "../../server/jobs/sweeps.ts";
import { prunePayments } from "../../server/market/prunePayments.ts";
import { sweepPart } from "../../server/market/uploads/sweep.ts";
import { pruneKeptAnswers } from "../../server/repeats/keptAnswers.ts";
import { NIL_UUID, sql } from "../../server/store/connection.ts";
import { fanOut } from "../../server/webhooks/fanOut.ts";
import { findHeldHosts, releaseHeld, takeHeld } from "../../server/webhooks/held.ts";
import { pruneWebhookDeliveries, pruneWebhookEndpoints } from "../../server/webhooks/prune.ts";
import { promoteDueRetries, takeDue } from "../../server/webhooks/take.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPayee, type Payee, requestPayout } from "../factories/payouts.ts";
import { createPerson, fund, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, disputedTask, placeBid, postTask, upload } from "../factories/tasks.ts";
import { openTopup } from "../factories/topups.ts";
import { rest } from "../setup/client.ts";
import { type PlanNode, type QueryPlan, recordPlans } from "../setup/queryPlans.ts";
import { clockOf } from "../setup/testClock.ts";
import { useService } from "../setup/testService.ts";
import { writeMuchOfEverything } from "./muchOfEverything.ts";

const MAX_READ_PER_ROW = 4;
/** What the triggers and functions of one statement may read beside that: some rows of each table, whatever its size. */
const MAX_READ_INSIDE = 40;
/** What a statement in the background may read beside that: it joins up to five tables for each row. */
const MAX_JOINED = 30;
/** The answers in 16 blocks of 8 kB, which is as close as their index gets. */
const MAX_BLOCK_ROWS = 2_000;
/**
 * What a search may read beside that, however many tasks there are: first the newest 250, then a range of time that a sample
 * of one task in 128 says should have some hundred matches (server/market/search).
 */
const MAX_SEARCHED = 1_000;

const service = useService();
let buyer: TestPerson;
let bidder: Payee;
let moderator: TestPerson;
/** A task of the buyer's with more than a page of bids. */
let crowdedTaskId: string;
/** An endpoint of the buyer's with more than a page of deliveries. */
let endpointId: string;

/** Tables so large that the planner uses indexes, with the rows that belong to the caller among those of others. */
beforeAll(async () => {
  buyer = await createPerson(service);
  bidder = await createPayee(service);
  moderator = await createModerator(service);
  await fund(service, buyer.id, 10_000_000);
  const webhook = await buyer.post("/webhooks", { url: "https://93.184.215.14/hook", events: ["task.disputed"] });
  endpointId = webhook.body.id;
  crowdedTaskId = (await postTask(buyer)).id;
  await writeMuchOfEverything(service.owner.pool, { buyer, bidder, crowdedTaskId, endpointId });
});

const describePlan = ({ text, rowsRead, rowsReadInside, rowsReturned, plan }: QueryPlan) =>
  `${rowsRead} rows read for ${rowsReturned}, with functions and triggers ${JSON.stringify(rowsReadInside)}: ` +
  `${text.replaceAll(/\s+/g, " ").trim()}\n${describeNode(plan, "  ")}`;

function describeNode(node: PlanNode, indent: string): string {
  const at = node["Index Name"] ?? node["Relation Name"] ?? "";
  const line = `${indent}${node["Node Type"]} ${at}: ${node["Actual Rows"]} rows, ${node["Actual Loops"]} times\n`;
  return line + (node.Plans ?? []).map((plan) => describeNode(plan, `${indent}  `)).join("");
}

function expectFrugal(plans: readonly QueryPlan[], atLeast: number, allowedBeside = 0): void {
  expect(plans.length).toBeGreaterThanOrEqual(atLeast);
  const greedy = plans.filter(({ rowsRead, rowsReadInside, rowsReturned }) => {
    const allowed = MAX_READ_PER_ROW * rowsReturned + allowedBeside;
    return rowsRead > allowed || Object.values(rowsReadInside).some((rows) => rows > allowed + MAX_READ_INSIDE);
  });
  expect(greedy.map(describePlan).join("\n")).toBe("");
}

async function get(person: TestPerson, path: string) {
  const answer = await person.get(path);
  expect(answer.status, `${path}: ${answer.text}`).toBe(200);
  return answer.body;
}

/** The list of the path, and the page behind it, which must exist. */
async function walkTwoPages(person: TestPerson, path: string, parameter = "cursor"): Promise<void> {
  const { nextCursor } = await get(person, path);
  expect(nextCursor, path).not.toBeNull();
  await get(person, `${path}${path.includes("?") ? "&" : "?"}${parameter}=${nextCursor}`);
}

describe("no statement reads more than four times the rows that it returns", () => {
  test("of the reads that people and agents do all the time", async () => {
    const plans = await recordPlans(async () => {
      await walkTwoPages(buyer, "/tasks");
      await walkTwoPages(buyer, "/tasks?limit=100&status=open,cancelled");
      await walkTwoPages(buyer, "/me/tasks");
      await walkTwoPages(buyer, "/me/tasks?role=buyer&status=open");
      await walkTwoPages(bidder, "/me/tasks?role=bidder");
      await walkTwoPages(bidder, "/bids");
      await walkTwoPages(bidder, "/bids?status=withdrawn");
      await walkTwoPages(buyer, `/tasks/${crowdedTaskId}/bids`);
      await walkTwoPages(buyer, "/wallet/ledger");
      await walkTwoPages(buyer, "/wallet/ledger?bucket=available&kind=topup&limit=100");
      await walkTwoPages(bidder, "/payouts");
      await walkTwoPages(buyer, "/events", "after");
      await walkTwoPages(buyer, "/events?types=task.updated", "after");
      await walkTwoPages(buyer, `/webhooks/${endpointId}/deliveries`);
      await walkTwoPages(buyer, `/webhooks/${endpointId}/deliveries?status=failed&event=task.disputed`);
      await walkTwoPages(moderator, "/disputes");
      await walkTwoPages(moderator, "/disputes?status=open");
      await walkTwoPages(moderator, "/users");
      await walkTwoPages(moderator, "/moderation/actions");
      for (const person of [buyer, bidder]) {
        for (const path of [`/tasks/${crowdedTaskId}`, "/wallet", "/keys", "/webhooks", "/auth/me", "/auth/sessions"]) {
          await get(person, path);
        }
        await get(person, `/tasks/${crowdedTaskId}/bids`);
        await get(person, `/users/${person.id}/reputation`);
      }
      await get({ ...buyer, get: (path) => withKey(buyer, path) }, "/wallet");
    });
    expectFrugal(plans, 100);
  });

  test("of what people ask and write to each other", async () => {
    const [crowded] = await service.services.database.query<{ bidId: string }>(sql`
      SELECT bid_id AS "bidId" FROM messages GROUP BY bid_id ORDER BY count(*) DESC LIMIT 1`);
    const plans = await recordPlans(async () => {
      await walkTwoPages(buyer, `/tasks/${crowdedTaskId}/questions`);
      await walkTwoPages(bidder, `/bids/${crowded?.bidId}/messages`);
      await walkTwoPages(bidder, `/bids/${crowded?.bidId}/messages?limit=100`);
    });
    expectFrugal(plans, 10);
  });

  test("of what a key did, among many acts", async () => {
    const [key] = (await get(buyer, "/keys")).keys;
    await service.owner.query(sql`
      INSERT INTO events (type, task_id, recipients, data, fanned_out_at, actor_id, actor_key_id, act_id)
      SELECT 'task.updated', ${crowdedTaskId}::uuid, '{}', '{}', now(), ${buyer.id}::uuid, ${key.id}::uuid, gen_random_uuid()
      FROM generate_series(1, 2000)`);
    await service.owner.query(sql`ANALYZE events`);
    const plans = await recordPlans(async () => {
      expect((await get(buyer, `/keys/${key.id}/activity`)).activity).toHaveLength(50);
    });
    expectFrugal(plans, 2);
  });

  test("of lists of conversations, beside the newest 1,000 whose unread messages are counted", async () => {
    const plans = await recordPlans(async () => {
      for (const person of [buyer, bidder]) await walkTwoPages(person, "/conversations");
      await walkTwoPages(bidder, "/conversations?limit=100");
    });
    const [counting, pages] = [true, false].map((counts) =>
      plans.filter(({ text }) => text.includes("sum(newest.unread)") === counts),
    );
    expectFrugal(counting ?? [], 6, 2_000);
    expectFrugal(pages ?? [], 6);
  });

  test("of searches, beside the newest tasks", async () => {
    const searches = [
      "tag=translation",
      "tag=topic7",
      "tag=nothing",
      "query=page",
      "query=page%20299",
      "query=nothing",
    ];
    const budgets = ["minBudget=2000", "maxBudget=2000", "minBudget=9000&maxBudget=9010"];
    const mixed = [
      "status=open,cancelled&tag=topic7",
      "status=cancelled&query=page%201&maxBudget=9000",
      "status=resolved",
    ];
    const plans = await recordPlans(async () => {
      for (const search of [...searches, ...budgets, ...mixed]) {
        const { nextCursor } = await get(buyer, `/tasks?${search}`);
        if (nextCursor !== null) await get(buyer, `/tasks?${search}&cursor=${nextCursor}`);
      }
    });
    expectFrugal(plans, 20, MAX_SEARCHED);
  });

  test("of a task's whole life, and of what else changes something", async () => {
    const plans = await recordPlans(async () => {
      const task = await postTask(buyer);
      const bid = await placeBid(bidder, task.id);
      await expectStatus(200, bidder.patch(`/bids/${bid.id}`, { priceCents: 7_000 }));
      await expectStatus(200, bidder.post(`/bids/${bid.id}/withdraw`));
      await expectStatus(200, buyer.patch(`/tasks/${task.id}`, { maxBudgetCents: 9_000 }));
      await expectStatus(200, buyer.post(`/tasks/${task.id}/cancel`));

      const awarded = await awardedTask(buyer, bidder);
      const storageKey = await upload(bidder, awarded.bid.id, "sample");
      await expectStatus(201, bidder.post(`/bids/${awarded.bid.id}/sample/finalize`, { storageKey }));
      const delivered = await deliveredTask(buyer, bidder);
      await expectStatus(200, buyer.post(`/tasks/${delivered.task.id}/accept`));
      await expectStatus(201, buyer.post(`/tasks/${delivered.task.id}/rate`, { stars: 5 }));
      await expectStatus(201, bidder.post(`/tasks/${delivered.task.id}/rate`, { stars: 5 }));
      const { dispute } = await disputedTask(buyer, bidder);
      await expectStatus(200, moderator.post(`/disputes/${dispute.id}/resolve`, { resolution: "refund" }));

      await requestPayout(bidder, 1_000);
      await openTopup(service, buyer);
      const webhook = await expectStatus(
        201,
        buyer.post("/webhooks", { url: "https://93.184.215.15/hook", events: ["task.created"] }),
      );
      await expectStatus(202, buyer.post(`/webhooks/${endpointId}/replay`, { since: "2020-01-01T00:00:00Z" }));
      await expectStatus(204, buyer.delete(`/webhooks/${webhook.id}`));
      const key = await expectStatus(201, buyer.post("/keys", { label: "new", scopes: [] }));
      await expectStatus(204, buyer.delete(`/keys/${key.id}`));
      const { email, password } = buyer;
      await expectStatus(200, buyer.post("/auth/login", { email, password }));
    });
    expectFrugal(plans, 150);
  });

  test("of what runs in the background", async () => {
    const { database, settings, clock } = service.services;
    const inDays = (days: number) => ({
      ...service.services,
      clock: clockOf(() => new Date(Date.now() + days * 86_400_000)),
    });
    const work = async () => {
      await sweepOnce(service.services);
      await fanOut({ database, settings, clock }, 200);
      const now = clock.now();
      await promoteDueRetries(database, now);
      const claim = {
        limit: 50,
        lanes: { listed: {}, others: 5, anyFull: false },
        afterEndpoint: NIL_UUID,
        now,
        leaseSeconds: 30,
      };
      await takeDue(database, claim);
      const hosts = (await findHeldHosts(database, { limit: 10, afterHost: "", now })).map(({ host }) => host);
      await takeHeld(database, { hosts, now, leaseSeconds: 30 });
      await releaseHeld(database, hosts);
      // First nothing is old, then some of it, then all.
      for (const days of [0, 40, 400]) {
        const services = inDays(days);
        await pruneAccounts(services);
        await prunePayments(services);
        await pruneReports(services);
        await pruneKeptAnswers(services);
        await pruneWebhookDeliveries(services);
        await pruneWebhookEndpoints(services);
        await pruneEvents(services);
        await sweepPart(services, { stage: "uploads" }, 1_000);
      }
    };
    const plans = await recordPlans(work, { prefersIndexes: true });
    // BRIN finds blocks of rows.
    const isBlockwise = ({ text }: QueryPlan) => text.includes("DELETE FROM idempotency_keys");
    expectFrugal(plans.filter(isBlockwise), 3, MAX_BLOCK_ROWS);
    expectFrugal(
      plans.filter((plan) => !isBlockwise(plan)),
      50,
      MAX_JOINED,
    );
  });
});

async function expectStatus(status: number, answered: ReturnType<TestPerson["post"]>) {
  const answer = await answered;
  expect(answer.status, answer.text).toBe(status);
  return answer.body;
}

/** Reads with an API key instead of the session. */
const withKey = (person: TestPerson, path: string) => rest(service.url, "GET", path, { credentials: person.key });
