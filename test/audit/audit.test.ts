import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { compareOnce, processorChecks } from "../../server/audit/againstProcessor.ts";
import { audit, auditChecks, checkDatabase } from "../../server/audit/audit.ts";
import { auditLedger } from "../../server/audit/nightly.ts";
import { printReport } from "../../server/audit/report.ts";
import { ProcessorRefused, ProcessorUnavailable } from "../../server/gateways/processorErrors.ts";
import { startWorker } from "../../server/jobs/worker.ts";
import { withdrawFees } from "../../server/market/fees/withdrawals.ts";
import { connectionOver, sql } from "../../server/store/connection.ts";
import { hastenRound } from "../crash/inDatabase.ts";
import { setFee } from "../factories/fees.ts";
import { createModerator } from "../factories/moderators.ts";
import { createPayee, type Payee, requestPayout } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { awardedTask, deliveredTask, disputedTask, postTask, propose, taskInRound } from "../factories/tasks.ts";
import { paidTopup, quiet } from "../factories/topups.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ settings: { processorPollSeconds: 4 } });

let buyer: TestPerson;
let payee: Payee;
let worker: Awaited<ReturnType<typeof startWorker>>;

beforeAll(async () => {
  worker = await startWorker(service.services, { concurrency: 4 });
  buyer = await createPerson(service);
  payee = await createPayee(service, { cents: 0 });
  await paidTopup(service, buyer, 50_000);
  await paidTopup(service, buyer, 50_000);
  await paidTopup(service, payee, 20_000, "refunded_half");
  await paidTopup(service, payee, 10_000, "disputed_won");
  await paidTopup(service, buyer, 10_000, "disputed_lost");
  await postTask(buyer, { maxBudgetCents: 5_000 });
  await awardedTask(buyer, payee);
  await setFee(service, { minCents: 300 });
  const { task } = await deliveredTask(buyer, payee, { priceCents: 7_000 });
  await buyer.post(`/tasks/${task.id}/accept`);
  const moderator = await createModerator(service);
  for (const decision of [{ resolution: "split", bidderCents: 1_234 }, { resolution: "refund" }]) {
    const { dispute } = await disputedTask(buyer, payee, { priceCents: 5_000 });
    const answer = await moderator.post(`/disputes/${dispute.id}/resolve`, decision);
    if (answer.status !== 200) throw new Error(`resolving returned ${answer.status}: ${answer.text}`);
  }
  const { task: settled } = await disputedTask(buyer, payee, { priceCents: 4_000 });
  const { id } = await propose(payee, settled.id, { kind: "settle", bidderCents: 2_345 });
  await buyer.post(`/agreements/${id}/accept`);
  const { task: extended } = await awardedTask(buyer, payee);
  const deliveryDueAt = new Date(Date.now() + 96 * 3_600_000).toISOString();
  const { id: extensionId } = await propose(payee, extended.id, { kind: "extend", deliveryDueAt });
  await buyer.post(`/agreements/${extensionId}/accept`);
  const { bid: bidOfLost } = await awardedTask(buyer, payee);
  await payee.post(`/bids/${bidOfLost.id}/give-back`, { reason: "I have lost the pages." });
  await taskInRound(buyer, payee);
  const { task: declined } = await taskInRound(buyer, payee);
  await payee.post(`/tasks/${declined.id}/decline-changes`, { reason: "The footnotes are there." });
  const { task: silent } = await taskInRound(buyer, payee);
  await hastenRound(service.ownerUrl, silent.id, 1);
  await eventually(
    async () => (await buyer.get(`/tasks/${silent.id}`)).body.task.acceptanceDeadlineAt,
    (deadline) => deadline !== null,
  );
  const { task: endedTask } = await awardedTask(buyer, payee);
  const { id: endId } = await propose(payee, endedTask.id);
  await buyer.post(`/agreements/${endId}/accept`);
  await disputedTask(buyer, payee, { priceCents: 2_000 });
  await withdrawFees(service.services.database, 700, "the first month");
  await requestPayout(payee, 3_000);
  await requestPayout(payee, 1_313);
  await eventually(
    async () => (await payee.get("/payouts")).body.payouts.map(({ status }: { status: string }) => status),
    (statuses) => statuses.toSorted().join() === "failed,paid",
  );
  await quiet(service);
});

const run = () => audit(service.services, { since: null });

test("the audit finds no discrepancy in a service with every kind of movement", async () => {
  const report = await run();
  expect(report.discrepancies).toEqual([]);
  expect(report.checks.map(({ name }) => name)).toEqual([...auditChecks]);
});

test("a busy service raises no false alarm", async () => {
  let busy = true;
  const work = async () => {
    const person = await createPayee(service, { cents: 0 });
    while (busy) {
      await paidTopup(service, person, 2_000);
      const { body } = await person.get("/wallet");
      if (body.availableCents >= 1_000) await requestPayout(person, 1_000);
      if (body.availableCents >= 1_500) await postTask(person, { maxBudgetCents: 500 });
      // Something is always under way, but not on both cores for as long as the audit waits for what is in flight.
      await sleep(20);
    }
  };
  const load = Promise.all([work(), work(), work()]);
  try {
    for (let round = 0; round < 3; round++) expect((await run()).discrepancies).toEqual([]);
  } finally {
    busy = false;
    await load;
  }
  await quiet(service);
});

test("a refund to a slow payment method, which the processor books under another type, is compared as well", async () => {
  const { database, processor } = service.services;
  const slow = {
    ...processor,
    async *listBalanceTransactions(...of: Parameters<typeof processor.listBalanceTransactions>) {
      for await (const movement of processor.listBalanceTransactions(...of)) {
        yield movement.type === "refund" ? { ...movement, type: "payment_refund" } : movement;
      }
    },
  };
  expect(await compareOnce({ database, processor: slow }, null)).toEqual([]);
});

test("other business of the same processor account is ignored, even if it is refunded or disputed", async () => {
  const { processor } = service.services;
  for (const reversal of ["refund", "dispute"]) {
    const { id } = await processor.createCheckoutSession({
      topupId: "order 17 of the shop",
      userId: "a customer of the shop",
      amountCents: 4_000,
      currency: "usd",
      successUrl: service.url,
      cancelUrl: service.url,
      idempotencyKey: crypto.randomUUID(),
    });
    await control(service, "POST", `checkout/${id}/pay`);
    await control(service, "POST", `charges/${id}/${reversal}`);
  }
  await quiet(service);
  expect(await compareOnce(service.services, null)).toEqual([]);
});

test("the audit runs every night", async () => {
  const crontabs = await service.services.database.query(sql`
    SELECT identifier FROM graphile_worker._private_known_crontabs`);
  expect(crontabs).toContainEqual({ identifier: "auditLedger" });
});

test("the nightly job stores its result, and the metrics show it", async () => {
  await auditLedger(service.services);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  expect(text).toContain('rebid_ledger_discrepancies{check="all accounts together sum to zero"} 0\n');
  expect(text).toMatch(/^rebid_ledger_audit_timestamp_seconds \d{10}/m);
  expect(text).toMatch(/^rebid_http_requests_total\{method="POST",status="202"\} \d+$/m);
  expect(text).toMatch(/^rebid_jobs_waiting \d+$/m);
  expect(text).toMatch(/^rebid_webhook_deliveries_pending \d+$/m);
  expect(text).toMatch(/^rebid_webhook_oldest_due_seconds \d+(\.\d+)?$/m);
});

describe("while the processor is unreachable", () => {
  const without = (error: Error) => {
    const listTransfers = () => {
      throw error;
    };
    return { ...service.services, processor: { ...service.services.processor, listTransfers } };
  };
  const unreachable = () => without(new ProcessorUnavailable("connect ECONNREFUSED"));

  test("the audit reports what it finds in the database, and that the rest was not compared", async () => {
    const report = await audit(unreachable(), { since: null });
    expect(report.checks.map(({ name }) => name)).toEqual(
      auditChecks.filter((name) => !processorChecks.includes(name)),
    );
    expect(report).toMatchObject({ notCompared: "the processor is unreachable", count: 0 });
    const text = printReport(report);
    for (const name of processorChecks) {
      expect(text).toContain(`??  ${name}: not compared: the processor is unreachable\n`);
    }
    expect(text).not.toContain("right");
    expect(printReport({ ...report, count: 2 })).toContain("2 discrepancies in the database;");
  });

  test("a refusal by the processor is reported in the same way", async () => {
    const services = without(new ProcessorRefused("account_invalid", "No such account."));
    expect(await audit(services, { since: null })).toMatchObject({
      notCompared: "the processor refused: No such account.",
      count: 0,
    });
  });

  test("the nightly job stores what it found and is queued again, once, and the metrics mark it as incomplete", async () => {
    const { database } = service.services;
    await auditLedger(unreachable());
    await auditLedger(unreachable());
    const jobs = await database.query(sql`
      SELECT 1 FROM graphile_worker.jobs WHERE task_identifier = 'auditLedger' AND run_at > now()`);
    expect(jobs).toHaveLength(1);
    const text = await (await fetch(`${service.url}/metrics`)).text();
    expect(text).toContain("rebid_ledger_audit_complete 0\n");
    expect(text).toContain('rebid_ledger_discrepancies{check="all accounts together sum to zero"} 0\n');
    for (const name of processorChecks) expect(text).not.toContain(name);
    await auditLedger(service.services);
    expect(await (await fetch(`${service.url}/metrics`)).text()).toContain("rebid_ledger_audit_complete 1\n");
  });
});

describe("a discrepancy of one cent is found", () => {
  // The damage locks whole tables: nothing else may be running.
  beforeAll(() => worker.stop());

  /** Statements whose damage each check must find. Only a superuser who disables the triggers could run them. */
  const damage: [check: string, statement: string][] = [
    [
      "every movement sums to zero",
      "UPDATE ledger_entries SET amount_cents = amount_cents + 1 WHERE id = (SELECT id FROM ledger_entries WHERE bucket = 'outside' LIMIT 1)",
    ],
    ["every movement has the shape of its kind", byHand("hold", ["available", 50_000, 0], ["outside", -50_000])],
    ["every movement has the shape of its kind", byHand("hold_release", ["available", -100, 0], ["available", 100, 1])],
    ["every movement has the shape of its kind", byHand("hold", ["held", -1, 0], ["available", 1, 0])],
    ["every movement has the shape of its kind", byHand("hold", ["available", -1, 0], ["held", 1, 1])],
    ["every movement has the shape of its kind", byHand("payout", ["available", 1, 0], ["outside", -1])],
    ["every movement has the shape of its kind", byHand("payout_reversal", ["available", -1, 0], ["outside", 1])],
    ["every movement has the shape of its kind", byHand("topup", ["held", 1, 0], ["outside", -1])],
    ["every movement has the shape of its kind", byHand("topup", ["outside", 1], ["outside", -1])],
    ["every movement has the shape of its kind", byHand("adjustment", ["available", -1, 0], ["outside", 1])],
    ["every movement has the shape of its kind", byHand("adjustment", ["available", 1, 0], ["debt", -1, 0])],
    ["every movement has the shape of its kind", byHand("adjustment", ["available", -1, 0], ["debt", 1, 1])],
    [
      "every movement has the shape of its kind",
      "UPDATE ledger_entries SET user_id = (SELECT e.user_id FROM ledger_entries e JOIN tasks t ON t.buyer_id = e.user_id LIMIT 1), version = version + 1000 WHERE kind = 'task_earning'",
    ],
    [
      "every movement has the shape of its kind",
      "UPDATE ledger_entries SET kind = 'hold_release' WHERE id = (SELECT id FROM ledger_entries WHERE kind = 'dispute_refund' LIMIT 1)",
    ],
    ["no entry or transfer is orphaned", byHand("adjustment", ["available", 777, 0], ["outside", -777])],
    ["no entry or transfer is orphaned", byHand("hold", ["available", -1, 0], ["held", 1, 0])],
    [
      "all accounts together sum to zero",
      "DELETE FROM ledger_entries WHERE id = (SELECT id FROM ledger_entries WHERE bucket = 'outside' LIMIT 1)",
    ],
    [
      "wallets equal the sums of their entries",
      "UPDATE wallets SET available_cents = available_cents + 1 WHERE user_id = (SELECT user_id FROM wallets LIMIT 1)",
    ],
    [
      "each entry's balance follows from the one before",
      "UPDATE ledger_entries SET balance_after_cents = balance_after_cents - 1 WHERE id = (SELECT id FROM ledger_entries WHERE version = 3 LIMIT 1)",
    ],
    [
      "no entry is missing from a wallet's history",
      "DELETE FROM ledger_entries WHERE id = (SELECT id FROM ledger_entries WHERE version = 2 LIMIT 1)",
    ],
    [
      "no entry is missing from a wallet's history",
      "UPDATE wallets SET version = version + 1 WHERE user_id = (SELECT user_id FROM wallets LIMIT 1)",
    ],
    [
      "no bucket is negative, and nobody with money available owes a debt",
      "UPDATE wallets SET debt_cents = 1 WHERE available_cents > 0",
    ],
    [
      "reputations match tasks, disputes and ratings",
      "UPDATE reputations SET buyer_tasks_posted = buyer_tasks_posted + 1 WHERE buyer_tasks_posted > 0",
    ],
    [
      "each task's hold matches its status",
      "UPDATE tasks SET max_budget_cents = max_budget_cents - 1 WHERE status = 'open'",
    ],
    ["held money equals the open holds", "UPDATE wallets SET held_cents = held_cents + 1 WHERE held_cents > 0"],
    [
      "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once",
      "UPDATE bids SET price_cents = price_cents + 1 WHERE id IN (SELECT awarded_bid_id FROM tasks WHERE status = 'accepted')",
    ],
    [
      "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once",
      "UPDATE disputes SET bidder_cents = bidder_cents + 1, buyer_cents = buyer_cents - 1 WHERE resolution = 'split'",
    ],
    [
      "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once",
      "UPDATE disputes SET resolution = 'release', bidder_cents = buyer_cents, buyer_cents = 0 WHERE resolution = 'refund'",
    ],
    [
      "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once",
      "UPDATE tasks SET status = 'resolved' WHERE status = 'accepted'",
    ],
    [
      "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once",
      "UPDATE tasks SET awarded_bidder_id = buyer_id WHERE status = 'resolved'",
    ],
    [
      "each resolved dispute divides the price",
      "UPDATE bids SET price_cents = price_cents + 1 WHERE id IN (SELECT awarded_bid_id FROM tasks WHERE status = 'resolved')",
    ],
    [
      "each task paid the bidder, and refunded after a dispute or settlement, the correct amount once",
      "UPDATE agreements SET bidder_cents = bidder_cents + 1 WHERE status = 'accepted' AND kind = 'settle'",
    ],
    [
      "each task ended by an agreement has the accepted agreement, and no other task has one",
      "UPDATE agreements SET status = 'declined' WHERE status = 'accepted' AND kind = 'cancel'",
    ],
    [
      "each task ended by an agreement has the accepted agreement, and no other task has one",
      "UPDATE disputes SET resolution = 'split' WHERE resolution = 'settled'",
    ],
    [
      "each task ended by an agreement has the accepted agreement, and no other task has one",
      "UPDATE tasks SET closed_because = NULL WHERE closed_because = 'agreed' AND status = 'resolved'",
    ],
    ...damagesOf(
      "each task that checks accepted had all required checks passed, and no change was asked for",
      "UPDATE tasks SET accepted_by = 'checks' WHERE status = 'accepted'",
    ),
    ...damagesOf(
      "each accepted task says who accepted it, and no other task does",
      "UPDATE tasks SET accepted_at = NULL WHERE status = 'accepted'",
      "UPDATE tasks SET accepted_by = 'buyer' WHERE status = 'awarded'",
    ),
    ...damagesOf(
      "each task has the rounds of changes that it counts, and only the one that it is in has not ended",
      "UPDATE tasks SET revisions_used = 2 WHERE status = 'awarded' AND revisions_used = 1",
      "UPDATE tasks SET revisions_used = 0 WHERE status = 'delivered' AND revisions_used = 1",
      "UPDATE tasks SET delivered_at = now() WHERE status = 'awarded' AND delivered_at IS NULL",
      "DELETE FROM change_rounds WHERE declined_by = 'bidder'",
      "UPDATE change_rounds SET round = 2 WHERE declined_by = 'bidder'",
      "UPDATE change_rounds SET ended_at = now() WHERE ended_at IS NULL",
      "UPDATE change_rounds SET ended_at = NULL, declined_by = NULL, declined_reason = NULL WHERE declined_by = 'bidder'",
      "UPDATE change_rounds SET ended_at = ended_at + interval '1 second' WHERE declined_by = 'clock'",
      "UPDATE change_rounds SET ended_at = ended_at - interval '1 microsecond' WHERE declined_by = 'clock'",
      "UPDATE change_rounds SET declined_by = 'clock', declined_reason = NULL WHERE declined_by = 'bidder'",
      "UPDATE change_rounds SET due_at = due_at + interval '1 hour' WHERE ended_at IS NULL",
      `INSERT INTO change_rounds (task_id, round, reason, due_at, ended_at)
       SELECT id, 1, 'Never asked for.', now(), now() FROM tasks WHERE status = 'accepted' LIMIT 1`,
    ),
    ...damagesOf(
      "each accepted extension holds, until a round of changes sets another due time",
      "UPDATE tasks SET delivery_due_at = delivery_due_at - interval '1 hour' WHERE id IN (SELECT task_id FROM agreements WHERE kind = 'extend')",
      "UPDATE agreements SET delivery_due_at = delivery_due_at + interval '1 hour' WHERE kind = 'extend'",
      `INSERT INTO agreements (task_id, kind, proposed_by, reason, delivery_due_at, status, expires_at, ended_at)
       SELECT id, 'extend', 'bidder', 'Never accepted.', delivery_due_at + interval '1 hour', 'accepted', now(), now()
       FROM tasks WHERE status = 'awarded' AND revisions_used = 1`,
    ),
    ...damagesOf(
      "each task that was given back was awarded and never delivered, and no other awarded task was cancelled by one side",
      "UPDATE tasks SET closed_because = 'cancelled' WHERE closed_because = 'given_back'",
      "UPDATE tasks SET closed_because = NULL WHERE closed_because = 'given_back'",
      "UPDATE tasks SET delivered_at = now() WHERE closed_because = 'given_back'",
      "UPDATE tasks SET awarded_bid_id = NULL, awarded_bidder_id = NULL WHERE closed_because = 'given_back'",
      "UPDATE tasks SET status = 'resolved' WHERE closed_because = 'given_back'",
      "UPDATE artifacts SET bid_id = t.awarded_bid_id FROM tasks t WHERE t.closed_because = 'given_back' AND bid_id = (SELECT awarded_bid_id FROM tasks WHERE status = 'accepted' LIMIT 1)",
    ),
    [
      "each task ended by an agreement has the accepted agreement, and no other task has one",
      "UPDATE tasks SET closed_because = 'agreed' WHERE closed_because = 'given_back'",
    ],
    [
      "each task ended by an agreement has the accepted agreement, and no other task has one",
      "UPDATE tasks SET closed_because = 'given_back' WHERE closed_because = 'agreed' AND status = 'cancelled'",
    ],
    [
      "reputations match tasks, disputes and ratings",
      "UPDATE reputations SET bidder_tasks_given_back = bidder_tasks_given_back + 1 WHERE bidder_tasks_given_back > 0",
    ],
    [
      "each task's hold matches its status",
      "UPDATE tasks SET status = 'awarded', closed_because = NULL WHERE closed_because = 'given_back'",
    ],
    ["no entry or transfer is orphaned", "INSERT INTO ledger_transfers (external_ref) VALUES ('alone')"],
    [
      "no entry or transfer is orphaned",
      "UPDATE ledger_transfers SET external_ref = NULL WHERE external_ref LIKE 'pi_%'",
    ],
    [
      "no entry or transfer is orphaned",
      "DELETE FROM ledger_transfers WHERE id = (SELECT id FROM ledger_transfers LIMIT 1)",
    ],
    [
      "each paid top-up was credited once, and no other top-up was credited",
      "UPDATE topups SET status = 'expired' WHERE id = (SELECT id FROM topups WHERE status = 'paid' LIMIT 1)",
    ],
    [
      "each paid top-up was credited once, and no other top-up was credited",
      "UPDATE topups SET amount_cents = amount_cents + 1 WHERE id = (SELECT id FROM topups WHERE status = 'paid' LIMIT 1)",
    ],
    [
      "each payout was debited, and credited back if and only if it failed",
      "UPDATE payouts SET state = 'paid', paid_at = now() WHERE state = 'failed'",
    ],
    [
      "each payout was debited, and credited back if and only if it failed",
      "UPDATE payouts SET amount_cents = amount_cents + 1 WHERE state = 'paid'",
    ],
    [
      "top-ups agree with the processor's payments",
      "UPDATE topups SET status = 'expired' WHERE id = (SELECT id FROM topups WHERE status = 'paid' LIMIT 1)",
    ],
    [
      "payouts agree with the processor's transfers",
      "UPDATE payouts SET amount_cents = amount_cents + 1 WHERE state = 'paid'",
    ],
    ["payouts agree with the processor's payouts to banks", "UPDATE payouts SET state = 'sent' WHERE state = 'failed'"],
    // A schedule of the past, as if it had been there all along.
    [
      "each bid has the fee of the schedule of its time",
      "INSERT INTO fee_schedules (starts_at, created_at, basis_points) SELECT min(priced_at), min(priced_at), 1 FROM bids WHERE fee_cents > 0",
    ],
    ["each bid has the fee of the schedule of its time", "UPDATE fee_schedules SET basis_points = basis_points + 100"],
    ["each bid has the fee of the schedule of its time", "UPDATE fee_schedules SET min_cents = min_cents + 1"],
    [
      "each bid has the fee of the schedule of its time",
      "UPDATE bids SET fee_cents = fee_cents - 1 WHERE fee_cents > 0",
    ],
    [
      "each bid has the fee of the schedule of its time",
      "UPDATE bids SET fee_cents = NULL, fee_schedule_id = NULL, priced_at = NULL WHERE fee_cents > 0",
    ],
    [
      "each bid has the fee of the schedule of its time",
      "UPDATE bids SET price_cents = price_cents + 10 WHERE fee_cents > 0",
    ],
    [
      "each payment took the fee of its bid once, from the bidder",
      "UPDATE ledger_entries SET amount_cents = amount_cents - sign(amount_cents) WHERE kind = 'platform_fee'",
    ],
    [
      "each payment took the fee of its bid once, from the bidder",
      "UPDATE ledger_entries SET user_id = (SELECT buyer_id FROM tasks LIMIT 1), version = version + 1000 WHERE kind = 'platform_fee' AND bucket = 'available'",
    ],
    [
      "each payment took the fee of its bid once, from the bidder",
      "DELETE FROM ledger_entries WHERE kind = 'platform_fee' AND transfer_id = (SELECT transfer_id FROM ledger_entries WHERE kind = 'platform_fee' LIMIT 1)",
    ],
    [
      "each payment took the fee of its bid once, from the bidder",
      `INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version)
       SELECT transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version + 1000 FROM ledger_entries
       WHERE kind = 'platform_fee'`,
    ],
    ["every movement has the shape of its kind", byHand("platform_fee", ["available", -1, 0], ["platform", 1])],
    ["no entry or transfer is orphaned", byHand("platform_fee", ["available", -1, 0], ["platform", 1])],
    ["no entry or transfer is orphaned", byHand("fee_withdrawal", ["platform", -1], ["outside", 1])],
    [
      "each withdrawal of fees has its reference, and none took more than there was",
      byHand("fee_withdrawal", ["platform", -1], ["outside", 1]),
    ],
    [
      "each withdrawal of fees has its reference, and none took more than there was",
      "UPDATE ledger_transfers SET fingerprint = 'fee_withdrawal 1' WHERE external_ref LIKE 'fee_withdrawal:%'",
    ],
    [
      "each withdrawal of fees has its reference, and none took more than there was",
      "UPDATE ledger_transfers SET external_ref = 'pi_17' WHERE external_ref LIKE 'fee_withdrawal:%'",
    ],
    [
      "each withdrawal of fees has its reference, and none took more than there was",
      "UPDATE ledger_entries SET amount_cents = amount_cents * 1000 WHERE kind = 'fee_withdrawal'",
    ],
    [
      "the processor's balance covers what users and the platform own",
      byHand("topup", ["available", 100_000_000, 0], ["outside", -100_000_000]),
    ],
    [
      "refunds and disputes agree with the processor's balance",
      "UPDATE ledger_transfers SET external_ref = external_ref || 'x' WHERE external_ref LIKE 'refund:%'",
    ],
  ];

  test.each(damage)("%s: %s", async (check, statement) => {
    const found = await checksThatFind(statement);
    expect(found).toContain(check);
  });

  test("every check has such a damage that it finds", () => {
    expect(new Set(damage.map(([check]) => check))).toEqual(new Set(auditChecks));
  });
});

/** Statements whose damage one check must find. */
function damagesOf(check: string, ...statements: string[]): [check: string, statement: string][] {
  return statements.map((statement) => [check, statement]);
}

/** A statement that inserts a movement without a reference. Each side belongs to one of two users, or to none. */
function byHand(kind: string, ...sides: [bucket: string, cents: number, user?: 0 | 1][]): string {
  const users = "(SELECT array_agg(user_id ORDER BY available_cents DESC) FROM wallets)";
  const rows = sides.map(
    ([bucket, cents, user]) =>
      `(${user === undefined ? "NULL::uuid" : `(${users})[${user + 1}]`}, '${bucket}', ${cents})`,
  );
  return `
    WITH transfer AS (INSERT INTO ledger_transfers DEFAULT VALUES RETURNING id)
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version)
    SELECT transfer.id, side.user_id, '${kind}', side.bucket, side.cents,
           CASE WHEN side.user_id IS NOT NULL THEN 0 END,
           CASE WHEN side.user_id IS NOT NULL THEN 1000 + row_number() OVER () END
    FROM transfer, (VALUES ${rows.join(", ")}) AS side (user_id, bucket, cents)`;
}

/** Runs a statement past all triggers and foreign keys, returns the checks that find something, and rolls it back. */
async function checksThatFind(statement: string): Promise<string[]> {
  const { pool } = service.owner;
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    for (const table of [
      "ledger_entries",
      "ledger_transfers",
      "wallets",
      "tasks",
      "bids",
      "topups",
      "payouts",
      "disputes",
      "fee_schedules",
    ]) {
      await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ALL`);
    }
    const { rowCount } = await client.query(statement);
    expect(rowCount).toBeGreaterThan(0);
    const connection = connectionOver(client);
    const inside = await checkDatabase(connection);
    const outside = await compareOnce({ database: connection, processor: service.services.processor }, null);
    return [...inside.filter(({ count }) => count > 0).map(({ name }) => name), ...outside.map(({ check }) => check)];
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}
