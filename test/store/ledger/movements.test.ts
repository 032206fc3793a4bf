import { afterEach, describe, expect, test } from "vitest";
import { sql } from "../../../server/store/connection.ts";
import type { Transaction } from "../../../server/store/database.ts";
import { Overdraft } from "../../../server/store/databaseErrors.ts";
import { createPerson } from "../../factories/people.ts";
import { postTask } from "../../factories/tasks.ts";
import { expectBooksToBalance } from "../../setup/books.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
afterEach(() => expectBooksToBalance(service));

const move = <Result>(work: (ledger: Transaction["ledger"]) => Promise<Result> | Result) =>
  service.services.database.transaction(async (tx) => work(tx.ledger));

async function walletOf(userId: string) {
  const [wallet] = await service.services.database.query<{ available: number; held: number; debt: number }>(sql`
    SELECT available_cents AS available, held_cents AS held, debt_cents AS debt FROM wallets
    WHERE user_id = ${userId}::uuid`);
  return wallet;
}

/** The wallet's history as [kind, bucket, amount], oldest first. */
async function historyOf(userId: string) {
  const rows = await service.services.database.query<{ kind: string; bucket: string; cents: number }>(sql`
    SELECT kind, bucket, amount_cents AS cents FROM ledger_entries WHERE user_id = ${userId}::uuid ORDER BY version`);
  return rows.map(({ kind, bucket, cents }) => [kind, bucket, cents]);
}

const ref = () => `test ${crypto.randomUUID()}`;
const isOverdraft = (error: unknown) => error instanceof Overdraft;
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("an overdraft", () => {
  test("over HTTP is 402 insufficient_funds and changes nothing", async () => {
    const buyer = await createPerson(service, { cents: 999 });
    const before = await historyOf(buyer.id);
    const answer = await buyer.post("/tasks", { title: "Too dear", description: "x", maxBudgetCents: 1_000, tags: [] });
    expect(answer.status).toBe(402);
    expect(answer.body.error).toBe("insufficient_funds");
    expect(await walletOf(buyer.id)).toEqual({ available: 999, held: 0, debt: 0 });
    expect(await historyOf(buyer.id)).toEqual(before);
    expect((await buyer.get("/tasks")).body.tasks).toEqual([]);
    const events = await service.services.database.query(sql`
      SELECT 1 FROM events WHERE data->'task'->>'title' = 'Too dear'`);
    expect(events).toEqual([]);
  });

  test("of a user without a wallet is also insufficient_funds and creates no wallet", async () => {
    const buyer = await createPerson(service);
    const answer = await buyer.post("/tasks", { title: "No money", description: "x", maxBudgetCents: 100, tags: [] });
    expect(answer.body.error).toBe("insufficient_funds");
    expect(isOverdraft(await failureOf(move((ledger) => ledger.withdraw(buyer.id, 1, ref()))))).toBe(true);
    expect(await walletOf(buyer.id)).toBeUndefined();
  });

  test("of the held bucket, or by a withdrawal, is refused and leaves the reference unused", async () => {
    const buyer = await createPerson(service, { cents: 1_000 });
    const bidder = await createPerson(service);
    const task = await postTask(buyer, { maxBudgetCents: 600 });
    const reason = { taskId: task.id };
    expect(isOverdraft(await failureOf(move((ledger) => ledger.release(buyer.id, 601, reason))))).toBe(true);
    expect(isOverdraft(await failureOf(move((ledger) => ledger.pay(buyer.id, bidder.id, 601, reason))))).toBe(true);
    const reference = ref();
    const payout = () => move((ledger) => ledger.withdraw(buyer.id, 401, reference));
    expect(isOverdraft(await failureOf(payout()))).toBe(true);
    await move((ledger) => ledger.deposit(buyer.id, "topup", 1, ref()));
    expect(await payout()).toEqual(expect.any(String));
    expect(await walletOf(buyer.id)).toEqual({ available: 0, held: 600, debt: 0 });
    expect(await walletOf(bidder.id)).toBeUndefined();
  });

  test("does not happen through parallel withdrawals, which take exactly the balance", async () => {
    const user = await createPerson(service, { cents: 100 });
    // As many at a time as there are connections: nothing waits for one until it times out.
    const results: unknown[] = [];
    const lane = async () => {
      for (let count = 0; count < 15; count++) {
        results.push(await failureOf(move((ledger) => ledger.withdraw(user.id, 1, ref()))));
      }
    };
    await Promise.all(Array.from({ length: 20 }, lane));
    expect(results.filter((failure) => failure === undefined)).toHaveLength(100);
    expect(results.filter(isOverdraft)).toHaveLength(200);
    expect(await walletOf(user.id)).toEqual({ available: 0, held: 0, debt: 0 });
  });
});

describe("a debt", () => {
  test("is the part of a claw-back that exceeds the balance, and later credits pay it first", async () => {
    const user = await createPerson(service, { cents: 300 });
    await move((ledger) => ledger.clawBack(user.id, "chargeback", 1_000, ref()));
    expect(await walletOf(user.id)).toEqual({ available: 0, held: 0, debt: 700 });

    await move((ledger) => ledger.deposit(user.id, "topup", 500, ref()));
    expect(await walletOf(user.id)).toEqual({ available: 0, held: 0, debt: 200 });
    await move((ledger) => ledger.deposit(user.id, "topup", 500, ref()));
    expect(await walletOf(user.id)).toEqual({ available: 300, held: 0, debt: 0 });
    expect(await historyOf(user.id)).toEqual([
      ["topup", "available", 300],
      ["chargeback", "available", -300],
      ["chargeback", "debt", -700],
      ["topup", "available", 500],
      ["adjustment", "available", -500],
      ["adjustment", "debt", 500],
      ["topup", "available", 500],
      ["adjustment", "available", -200],
      ["adjustment", "debt", 200],
    ]);
  });

  test("is paid once, the oldest first, also in a session that makes constraints immediate", async () => {
    const user = await createPerson(service, { cents: 300 });
    await move((ledger) => ledger.clawBack(user.id, "chargeback", 500, "dispute:first"));
    await move((ledger) => ledger.clawBack(user.id, "chargeback", 400, "dispute:second"));
    await service.services.database.transaction(async (tx) => {
      await tx.query(sql`SET CONSTRAINTS ALL IMMEDIATE`);
      await tx.ledger.deposit(user.id, "topup", 450, ref());
      await tx.ledger.deposit(user.id, "topup", 450, ref());
    });
    expect(await walletOf(user.id)).toEqual({ available: 300, held: 0, debt: 0 });
    const { entries } = (await user.get("/wallet/ledger")).body;
    const payments = entries
      .filter(({ kind }: { kind: string }) => kind === "adjustment")
      .map((entry: { amountCents: number; externalRef: string }) => [entry.amountCents, entry.externalRef]);
    expect(payments.toReversed()).toEqual([
      [-200, expect.stringMatching(/^debt:dispute:first:/)],
      [-250, expect.stringMatching(/^debt:dispute:second:/)],
      [-150, expect.stringMatching(/^debt:dispute:second:/)],
    ]);
  });

  test("does not appear as a bucket of the wallet or in the list of ledger entries", async () => {
    const user = await createPerson(service, { cents: 300 });
    await move((ledger) => ledger.clawBack(user.id, "topup_refund", 1_000, ref()));
    expect((await user.get("/wallet")).body).toEqual({ availableCents: 0, heldCents: 0 });
    const { entries } = (await user.get("/wallet/ledger")).body;
    expect(entries.map((entry: { amountCents: number }) => entry.amountCents)).toEqual([-300, 300]);
  });

  test("does not arise from a claw-back that the balance covers", async () => {
    const user = await createPerson(service, { cents: 300 });
    await move((ledger) => ledger.clawBack(user.id, "topup_refund", 300, ref()));
    expect(await walletOf(user.id)).toEqual({ available: 0, held: 0, debt: 0 });
  });

  test("is also paid from a released hold and from an earning, but never from held money", async () => {
    const buyer = await createPerson(service, { cents: 1_000 });
    const bidder = await createPerson(service, { cents: 1 });
    const task = await postTask(buyer, { maxBudgetCents: 1_000 });
    await move((ledger) => ledger.clawBack(buyer.id, "chargeback", 1_000, ref()));
    expect(await walletOf(buyer.id)).toEqual({ available: 0, held: 1_000, debt: 1_000 });
    expect((await buyer.patch(`/tasks/${task.id}`, { maxBudgetCents: 400 })).status).toBe(200);
    expect(await walletOf(buyer.id)).toEqual({ available: 0, held: 400, debt: 400 });

    await move((ledger) => ledger.clawBack(bidder.id, "chargeback", 301, ref()));
    const bid = (await bidder.post(`/tasks/${task.id}/bids`, { priceCents: 400, etaHours: 1 })).body.bid;
    await buyer.post(`/tasks/${task.id}/award`, { bidId: bid.id });
    await service.services.database.transaction(async (tx) => {
      tx.ledger.pay(buyer.id, bidder.id, 400, { taskId: task.id, bidId: bid.id });
      await tx.query(sql`UPDATE tasks SET status = 'accepted' WHERE id = ${task.id}::uuid`);
    });
    expect(await walletOf(bidder.id)).toEqual({ available: 100, held: 0, debt: 0 });
  });

  test("and parallel credits, debits and claw-backs of one wallet result in one exact history", async () => {
    const user = await createPerson(service, { cents: 5_000 });
    await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        failureOf(
          move((ledger) => {
            if (index % 3 === 0) return ledger.clawBack(user.id, "chargeback", 170, ref());
            if (index % 3 === 1) return ledger.deposit(user.id, "topup", 90, ref());
            return ledger.withdraw(user.id, 40, ref());
          }),
        ).then((failure) => expect(failure === undefined || isOverdraft(failure)).toBe(true)),
      ),
    );
    const wallet = await walletOf(user.id);
    expect(wallet?.available === 0 || wallet?.debt === 0).toBe(true);
  });
});

describe("an external reference", () => {
  test("is booked once, in parallel and later; repeating it returns null", async () => {
    const user = await createPerson(service);
    const reference = ref();
    const deposit = () => move((ledger) => ledger.deposit(user.id, "topup", 500, reference));
    const results = await Promise.all(Array.from({ length: 20 }, deposit));
    expect(results.filter((id) => id !== null)).toHaveLength(1);
    expect(await deposit()).toBeNull();
    expect(await walletOf(user.id)).toEqual({ available: 500, held: 0, debt: 0 });

    const chargeback = ref();
    const clawBacks = Array.from({ length: 20 }, () =>
      move((ledger) => ledger.clawBack(user.id, "chargeback", 500, chargeback)),
    );
    expect((await Promise.all(clawBacks)).filter((id) => id !== null)).toHaveLength(1);
    expect(await walletOf(user.id)).toEqual({ available: 0, held: 0, debt: 0 });
  });

  test("with another amount, user or kind is an error and books nothing, also in parallel", async () => {
    const [user, other] = await Promise.all([createPerson(service, { cents: 10 }), createPerson(service)]);
    const reference = ref();
    await move((ledger) => ledger.deposit(user.id, "topup", 500, reference));
    const others: ((ledger: Transaction["ledger"]) => Promise<unknown>)[] = [
      (ledger) => ledger.deposit(user.id, "topup", 501, reference),
      (ledger) => ledger.deposit(other.id, "topup", 500, reference),
      (ledger) => ledger.deposit(user.id, "adjustment", 500, reference),
      (ledger) => ledger.withdraw(user.id, 500, reference),
      (ledger) => ledger.clawBack(user.id, "chargeback", 500, reference),
    ];
    for (const work of others) {
      expect(await failureOf(move(work))).toMatchObject({ constraint: "ledger_transfers_fingerprint" });
    }
    const fresh = ref();
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        failureOf(move((ledger) => ledger.deposit(user.id, "topup", 100 + index, fresh))),
      ),
    );
    expect(results.filter((failure) => failure === undefined)).toHaveLength(1);
    expect(await walletOf(other.id)).toBeUndefined();
  });

  test("of a transaction that was rolled back can be used again", async () => {
    const user = await createPerson(service);
    const reference = ref();
    const rolledBack = service.services.database.transaction(async (tx) => {
      await tx.ledger.deposit(user.id, "topup", 500, reference);
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect(await move((ledger) => ledger.deposit(user.id, "topup", 500, reference))).toEqual(expect.any(String));
  });
});

test("parallel payments in both directions between the same two wallets do not deadlock", async () => {
  const [a, b] = await Promise.all([
    createPerson(service, { cents: 10_000 }),
    createPerson(service, { cents: 10_000 }),
  ]);
  const tasks = await Promise.all([a, b].map((buyer) => postTask(buyer, { maxBudgetCents: 5_000 })));
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => {
      const [from, to, task] = index % 2 === 0 ? [a, b, tasks[0]] : [b, a, tasks[1]];
      return service.services.database.transaction(async (tx) => {
        tx.ledger.pay(from.id, to.id, 10, { taskId: task.id });
        tx.ledger.hold(from.id, 10, { taskId: task.id });
      });
    }),
  );
  expect(await walletOf(a.id)).toEqual({ available: 5_000, held: 5_000, debt: 0 });
  expect(await walletOf(b.id)).toEqual({ available: 5_000, held: 5_000, debt: 0 });
});
