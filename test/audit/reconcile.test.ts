import { beforeAll, describe, expect, test } from "vitest";
import { compareOnce } from "../../server/audit/againstProcessor.ts";
import { checkDatabase } from "../../server/audit/audit.ts";
import { checkAfterRestore } from "../../server/audit/reconcile/afterRestore.ts";
import type { Finding } from "../../server/audit/reconcile/bookkeeping.ts";
import { reconcile, reconcileAndResume } from "../../server/audit/reconcile/reconcile.ts";
import { ProcessorUnavailable } from "../../server/gateways/processorErrors.ts";
import { startWorker } from "../../server/jobs/worker.ts";
import { advancePayout, findDuePayouts } from "../../server/market/payouts/advance.ts";
import { sql } from "../../server/store/connection.ts";
import {
  demandReconciliation,
  endReconciliation,
  isUnreconciled,
  readOrigin,
} from "../../server/store/reconciliation.ts";
import { accountOf, createPayee, type Payee, requestPayout } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { openTopup, paidTopup, pay, quiet, type TestTopup } from "../factories/topups.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { copyDatabase } from "../setup/databaseCopy.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ settings: { processorPollSeconds: 4 } });

type Worker = Awaited<ReturnType<typeof startWorker>>;
const startJobs = () => startWorker(service.services, { concurrency: 4 });

const statusesOf = async (person: TestPerson): Promise<string> =>
  (await person.get("/payouts")).body.payouts.map(({ status }: { status: string }) => status).join();
const untilPaidOut = (person: TestPerson, statuses: string) =>
  eventually(
    () => statusesOf(person),
    (now) => now === statuses,
  );
const moneyOf = async (person: TestPerson): Promise<[availableCents: number, debtCents: number]> => {
  const [wallet] = await service.services.database.query<{ available: number; debt: number }>(sql`
    SELECT available_cents AS available, debt_cents AS debt FROM wallets WHERE user_id = ${person.id}::uuid`);
  return [wallet?.available ?? 0, wallet?.debt ?? 0];
};
const payoutOf = async (person: TestPerson): Promise<string> => (await person.get("/payouts")).body.payouts[0].id;
const refund = (topup: TestTopup, amountCents?: number) =>
  control<{ refund: { id: string } }>(service, "POST", `charges/${topup.sessionId}/refund`, { amountCents });

/** Money of the kind that the seed command makes, which came through no processor. */
const give = ({ id }: TestPerson, cents: number) =>
  service.services.database.transaction(async (tx) => {
    await tx.ledger.deposit(id, "adjustment", cents, `given:${crypto.randomUUID()}`);
  });

/** What the processor has of each transfer, by our payout's id. */
async function transfersByPayout(): Promise<Record<string, { amountCents: number; reversedCents: number }[]>> {
  const transfers: Record<string, { amountCents: number; reversedCents: number }[]> = {};
  for await (const { transferGroup, amountCents, reversedCents } of service.services.processor.listTransfers(0)) {
    transfers[transferGroup ?? ""] = [...(transfers[transferGroup ?? ""] ?? []), { amountCents, reversedCents }];
  }
  return transfers;
}

/** One of each kind of person, by what has happened to their money since the copy of the database. */
interface People {
  payers: TestPerson[];
  opener: TestPerson;
  refunded: TestPerson;
  refundFailed: TestPerson;
  disputeWon: TestPerson;
  disputeLost: TestPerson;
  creditedBefore: TestPerson;
  requestedBefore: Payee;
  paidOut: Payee;
  returned: Payee;
  underWay: Payee;
  spent: Payee;
  /** Onboarded after the copy. */
  onboardedSince: TestPerson;
}

let people: People;
let newcomer: Payee;
let newcomersTopup: TestTopup;
let payouts: Record<
  "requestedBefore" | "paidOut" | "returned" | "underWay" | "spent" | "onboardedSince" | "newcomer",
  string
>;

async function createPeople(): Promise<People> {
  const person = () => createPerson(service);
  const payee = async (cents: number, bank = "pays") => {
    const created = await createPayee(service, { cents: 0, bank });
    await give(created, cents);
    return created;
  };
  return {
    payers: [await person(), await person(), await person(), await person()],
    ...{ opener: await person(), refunded: await person(), refundFailed: await person() },
    ...{ disputeWon: await person(), disputeLost: await person(), creditedBefore: await person() },
    ...{ requestedBefore: await payee(5_000), paidOut: await payee(5_000), underWay: await payee(5_000) },
    ...{ returned: await payee(5_000, "fails"), spent: await payee(1_000) },
    onboardedSince: await person(),
  };
}

/** Lives on after the copy: what happens here is what the restored database does not know. */
async function liveOn(opened: TestTopup, credited: TestTopup): Promise<void> {
  let worker: Worker = await startJobs();
  for (const payer of people.payers) await paidTopup(service, payer, 5_000);
  await pay(service, opened);
  await refund(await paidTopup(service, people.refunded, 5_000), 2_000);
  const failed = await refund(await paidTopup(service, people.refundFailed, 5_000));
  await control(service, "POST", `refunds/${failed.refund.id}/fail`);
  await paidTopup(service, people.disputeWon, 5_000, "disputed_won");
  await paidTopup(service, people.disputeLost, 5_000, "disputed_lost");
  await refund(credited, 1_500);
  for (const who of ["paidOut", "returned"] as const) await requestPayout(people[who], 3_000);
  // What was earned after the copy was paid out, too: the books will lack both.
  await give(people.spent, 4_000);
  await requestPayout(people.spent, 5_000);
  await people.onboardedSince.post("/payouts/onboarding");
  const accountId = await accountOf(service, people.onboardedSince.id);
  await control(service, "POST", `accounts/${accountId}/onboard`, { outcome: "finishes", bank: "pays" });
  await requestPayout(people.onboardedSince, 3_000);
  newcomer = await createPayee(service, { cents: 0 });
  await give(newcomer, 2_000);
  newcomersTopup = await paidTopup(service, newcomer, 700);
  await requestPayout(newcomer, 1_000);
  for (const who of ["requestedBefore", "paidOut", "spent", "onboardedSince"] as const)
    await untilPaidOut(people[who], "paid");
  await untilPaidOut(newcomer, "paid");
  await untilPaidOut(people.returned, "failed");
  await quiet(service);
  await worker.stop();
  await requestPayout(people.underWay, 3_000);
  await advancePayout(service.services, { payoutId: await payoutOf(people.underWay) });
  payouts = {
    requestedBefore: await payoutOf(people.requestedBefore),
    paidOut: await payoutOf(people.paidOut),
    returned: await payoutOf(people.returned),
    underWay: await payoutOf(people.underWay),
    spent: await payoutOf(people.spent),
    onboardedSince: await payoutOf(people.onboardedSince),
    newcomer: await payoutOf(newcomer),
  };
  worker = await startJobs();
  await quiet(service);
  await worker.stop();
}

const subjects = (findings: readonly Finding[], kind: Finding["kind"]) =>
  findings.filter((finding) => finding.kind === kind).map(({ subject }) => subject);

/** What the model says that everybody has at the end: what the restored books had, and what the processor did since. */
async function expectMoney(): Promise<void> {
  for (const payer of [...people.payers, people.opener]) expect(await moneyOf(payer)).toEqual([5_000, 0]);
  expect(await moneyOf(people.refunded)).toEqual([3_000, 0]);
  expect(await moneyOf(people.refundFailed)).toEqual([5_000, 0]);
  expect(await moneyOf(people.disputeWon)).toEqual([5_000, 0]);
  expect(await moneyOf(people.disputeLost)).toEqual([0, 0]);
  expect(await moneyOf(people.creditedBefore)).toEqual([3_500, 0]);
  for (const who of ["requestedBefore", "paidOut", "underWay", "onboardedSince"] as const)
    expect(await moneyOf(people[who]), who).toEqual([2_000, 0]);
  expect(await moneyOf(people.returned)).toEqual([5_000, 0]);
  // It has received 5,000, of which the books know 1,000.
  expect(await moneyOf(people.spent)).toEqual([0, 4_000]);
}

async function expectCleanDatabase(): Promise<void> {
  await expectBooksToBalance(service);
  const results = await service.services.database.snapshot(checkDatabase);
  expect(results.flatMap(({ discrepancies }) => discrepancies)).toEqual([]);
}

describe("a service whose database was restored to an earlier time", () => {
  let sent: Awaited<ReturnType<typeof transfersByPayout>>;

  beforeAll(async () => {
    const worker = await startJobs();
    people = await createPeople();
    await give(people.onboardedSince, 5_000);
    const credited = await paidTopup(service, people.creditedBefore, 5_000);
    const opened = await openTopup(service, people.opener, 5_000);
    await quiet(service);
    await worker.stop();
    // Requested before the copy, and sent after it: under a key that the restored database does not know.
    await requestPayout(people.requestedBefore, 3_000);
    const restore = await copyDatabase(service);
    await liveOn(opened, credited);
    sent = await transfersByPayout();
    await restore();
  }, 300_000);

  test("sends no payout and takes no request for one, whoever asks", async () => {
    const { services } = service;
    expect(await isUnreconciled(services.database)).toBe(true);
    service.clock.advance(60);
    expect(await findDuePayouts(services, 10)).toEqual([]);
    await advancePayout(services, { payoutId: payouts.requestedBefore });
    expect(await transfersByPayout()).toEqual(sent);
    const refused = await people.paidOut.post("/payouts", { amountCents: 3_000 });
    expect([refused.status, refused.body.error]).toEqual([503, "unavailable"]);
    expect(refused.headers.get("retry-after")).toBe("60");
    expect(await moneyOf(people.paidOut)).toEqual([5_000, 0]);
  });

  test("the audit names what the processor knows and the books do not", async () => {
    const text = JSON.stringify(await compareOnce(service.services, null));
    for (const id of Object.values(payouts).filter((id) => id !== payouts.requestedBefore)) expect(text).toContain(id);
    expect(text).toContain(newcomersTopup.id);
    expect(text.match(/top-up [0-9a-f-]{36}/g)).toHaveLength(10);
  });

  test("a dry run lists it, with what the books do not know the user of, and changes nothing", async () => {
    const before = await service.services.database.query(sql`SELECT id FROM ledger_entries ORDER BY id`);
    const findings = await reconcile(service.services, { since: null, extent: "nothing" });
    expect(subjects(findings, "contradiction")).toEqual([]);
    expect(subjects(findings, "unknownUser")).toEqual([
      expect.stringContaining(`top-up ${newcomersTopup.id}`),
      expect.stringContaining(`payout ${payouts.newcomer}`),
    ]);
    const missing = subjects(findings, "missing").map((subject) => subject.replace(/ .*/, ""));
    expect(missing.toSorted()).toEqual([
      ...Array.from({ length: 6 }, () => "payout"),
      ...Array.from({ length: 5 }, () => "refunds"),
      ...Array.from({ length: 9 }, () => "top-up"),
    ]);
    expect(await service.services.database.query(sql`SELECT id FROM ledger_entries ORDER BY id`)).toEqual(before);
    expect(await isUnreconciled(service.services.database)).toBe(true);
  });

  test("its worker leaves the pause to an operator, because something is missing", async () => {
    await checkAfterRestore(service.services, 1);
    service.clock.advance(31);
    await checkAfterRestore(service.services, 1);
    expect(await isUnreconciled(service.services.database)).toBe(true);
    expect(service.errors.splice(0)).toEqual([expect.stringContaining("the books lack what")]);
    expect(await moneyOf(people.paidOut)).toEqual([5_000, 0]);
  });

  test("a reconciliation that dies half way has booked a part, and payouts stay paused", async () => {
    const { services } = service;
    const { processor } = services;
    let calls = 0;
    const dying = {
      ...processor,
      findRefunds: (paymentIntentId: string) => {
        if (++calls > 2) throw new ProcessorUnavailable("gone");
        return processor.findRefunds(paymentIntentId);
      },
    };
    await expect(reconcileAndResume({ ...services, processor: dying }, null)).rejects.toThrow(ProcessorUnavailable);
    expect(await isUnreconciled(services.database)).toBe(true);
  });

  test("two at once book each thing once: the money is what the model says, and the audit is clean", async () => {
    const rounds = await Promise.all([
      reconcileAndResume(service.services, null),
      reconcileAndResume(service.services, null),
    ]);
    expect(rounds.flatMap((findings) => subjects(findings, "contradiction"))).toEqual([]);
    await expectMoney();
    await expectCleanDatabase();
    const left = await compareOnce(service.services, null);
    expect(left.map(({ subject }) => subject)).toEqual([`top-up ${newcomersTopup.id}`, `payout ${payouts.newcomer}`]);
    expect(await isUnreconciled(service.services.database)).toBe(false);
  });

  test("a second run finds nothing to book", async () => {
    const findings = await reconcileAndResume(service.services, null);
    expect(findings.map(({ kind }) => kind)).toEqual(["unknownUser", "unknownUser"]);
    await expectMoney();
  });

  test("payouts go on, and nothing is sent twice", async () => {
    const worker = await startJobs();
    try {
      await untilPaidOut(people.underWay, "paid");
      await untilPaidOut(people.requestedBefore, "paid");
      await requestPayout(people.paidOut, 1_000);
      await untilPaidOut(people.paidOut, "paid,paid");
      await quiet(service);
    } finally {
      await worker.stop();
    }
    const now = await transfersByPayout();
    expect(now).toEqual({ ...sent, [await payoutOf(people.paidOut)]: [{ amountCents: 1_000, reversedCents: 0 }] });
    expect(await moneyOf(people.underWay)).toEqual([2_000, 0]);
    for (const payee of [people.underWay, people.requestedBefore]) {
      const made = await service.services.processor.findPayouts(payee.accountId, await payoutOf(payee));
      expect(made.map(({ status }) => status)).toEqual(["paid"]);
    }
    await expectCleanDatabase();
  });

  test("a top-up of an unknown user is no discrepancy any more once it is refunded", async () => {
    await refund(newcomersTopup);
    const findings = await reconcile(service.services, { since: null, extent: "nothing" });
    expect(subjects(findings, "unknownUser")).toEqual([expect.stringContaining(`payout ${payouts.newcomer}`)]);
    const left = await compareOnce(service.services, null);
    expect(left.map(({ subject }) => subject)).toEqual([`payout ${payouts.newcomer}`]);
    service.errors.length = 0; // its event is about a top-up that nobody knows
  });
});

test("a page that was opened before a restore and paid after it credits its user, whose top-up the books do not know", async () => {
  const person = await createPerson(service);
  const restore = await copyDatabase(service);
  const topup = await openTopup(service, person, 4_000);
  await restore();
  await endReconciliation(service.services.database, await readOrigin(service.services.database));
  await pay(service, topup);
  const worker = await startJobs();
  try {
    await eventually(
      () => moneyOf(person),
      ([availableCents]) => availableCents === 4_000,
    );
    await quiet(service);
  } finally {
    await worker.stop();
  }
  await expectCleanDatabase();
});

describe("after a failover that lost nothing", () => {
  const settled = () =>
    eventually(
      () => reconcile(service.services, { since: null, extent: "nothing" }),
      (findings) => findings.every(({ kind }) => kind === "unknownUser"),
    );
  /** Notices the failover, and waits until calls from before it have ended. */
  const failOver = async () => {
    await demandReconciliation(service.services.database);
    await checkAfterRestore(service.services, 1);
    await checkAfterRestore(service.services, 1);
    expect(await isUnreconciled(service.services.database)).toBe(true);
    service.clock.advance(31);
  };

  test("payouts go on by themselves, as soon as the processor can be asked", async () => {
    const { services } = service;
    await settled();
    await failOver();
    const unreachable = {
      ...services.processor,
      listTransfers() {
        throw new ProcessorUnavailable("gone");
      },
    };
    await checkAfterRestore({ ...services, processor: unreachable }, 1);
    expect(await isUnreconciled(services.database)).toBe(true);
    service.clock.advance(301);
    await checkAfterRestore(services, 1);
    expect(await isUnreconciled(services.database)).toBe(false);
    // The one user whom the books never knew is still named.
    expect(service.errors.splice(0)).toEqual([expect.stringContaining("the books lack what")]);
  });

  test("a payout whose last answer was lost does not hold the others up, and is not sent twice", async () => {
    const { services } = service;
    const payee = await createPayee(service, { cents: 5_000 });
    await requestPayout(payee, 3_000);
    const payoutId = await payoutOf(payee);
    const deaf = {
      ...services.processor,
      async createTransfer(input: Parameters<typeof services.processor.createTransfer>[0]) {
        await services.processor.createTransfer(input);
        throw new ProcessorUnavailable("the answer is lost");
      },
    };
    await advancePayout({ ...services, processor: deaf }, { payoutId });
    expect((await transfersByPayout())[payoutId]).toHaveLength(1);
    await failOver();
    await checkAfterRestore(services, 1);
    expect(await isUnreconciled(services.database)).toBe(false);
    service.errors.length = 0;
    const worker = await startJobs();
    try {
      await untilPaidOut(payee, "paid");
    } finally {
      await worker.stop();
    }
    expect((await transfersByPayout())[payoutId]).toEqual([{ amountCents: 3_000, reversedCents: 0 }]);
  });
});
