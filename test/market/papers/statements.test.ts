import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { readStatements } from "../../../server/market/papers/statements.ts";
import type { Statement } from "../../../server/schemas/statement.ts";
import { sql } from "../../../server/store/connection.ts";
import type { Transaction } from "../../../server/store/database.ts";
import { Overdraft } from "../../../server/store/databaseErrors.ts";
import { setFee } from "../../factories/fees.ts";
import { createPerson, type TestPerson } from "../../factories/people.ts";
import { placeBid, postTask } from "../../factories/tasks.ts";
import { useService } from "../../setup/testService.ts";

const service = useService();
const HOUR_MS = 3_600_000;
const TAX = 1_900;
/** The tax in a fee, rounded down: of 1,190 with 19 % in it, 190. */
const taxIn = (feeCents: number, basisPoints: number) => Math.floor((feeCents * basisPoints) / (10_000 + basisPoints));
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati"] as const;

let buyer: TestPerson;
let bidder: TestPerson;
let reason: { taskId: string; bidId: string };

beforeAll(async () => {
  [buyer, bidder] = [await createPerson(service, { cents: 10_000 }), await createPerson(service)];
  await setFee(service, { taxBasisPoints: TAX });
  const task = await postTask(buyer, { maxBudgetCents: 9_000 });
  reason = { taskId: task.id, bidId: (await placeBid(bidder, task.id)).id };
});

/** Lets the service's time stand at this moment; what is recorded in it has later microseconds all the same. */
const setNow = (now: Date) =>
  service.owner.pool.query(`
    CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS $$ SELECT '${now.toISOString()}'::timestamptz + (clock_timestamp() - statement_timestamp()) $$`);

interface Step {
  hours: number;
  kind: "topup" | "payout" | "refund" | "hold" | "release" | "pay";
  cents: number;
  feeCents: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  hours: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 200, max: 2_500 })),
  kind: fc.constantFrom("topup", "topup", "payout", "refund", "hold", "hold", "release", "pay"),
  cents: fc.integer({ min: 1, max: 5_000 }),
  feeCents: fc.integer({ min: 0, max: 500 }),
});

function move(tx: Transaction, from: string, to: string, { kind, cents, feeCents }: Step): unknown {
  const reference = `test:${crypto.randomUUID()}`;
  switch (kind) {
    case "topup":
      return tx.ledger.deposit(from, "topup", cents, reference);
    case "payout":
      return tx.ledger.withdraw(from, cents, reference);
    case "refund":
      return tx.ledger.clawBack(from, "chargeback", cents, reference);
    case "hold":
      return tx.ledger.hold(from, cents, reason);
    case "release":
      return tx.ledger.release(from, cents, reason);
    case "pay":
      return tx.ledger.pay(from, to, cents, reason, Math.min(feeCents, cents));
  }
}

interface Entry {
  kind: string;
  bucket: "available" | "held";
  cents: number;
  createdAt: string;
}

/** The statements that a person would make from the entries, by the calendar of JavaScript and not of the database. */
function byHand(entries: readonly Entry[], timeZone: string, now: Date): Statement[] {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit" });
  const monthOf = (time: string | Date) => format.format(new Date(time)).slice(0, 7);
  const [first] = entries;
  if (first === undefined) return [];
  const statements: Statement[] = [];
  let balances = { availableCents: 0, heldCents: 0 };
  for (let month = monthOf(first.createdAt); month <= monthOf(now); month = next(month)) {
    const own = entries.filter(({ createdAt }) => monthOf(createdAt) === month);
    const sums = new Map<string, number>();
    const closing = { ...balances };
    for (const { kind, bucket, cents } of own) {
      sums.set(`${kind} ${bucket}`, (sums.get(`${kind} ${bucket}`) ?? 0) + cents);
      closing[`${bucket}Cents`] += cents;
    }
    const fees = own.filter(({ kind }) => kind === "platform_fee").map(({ cents }) => -cents);
    statements.push({
      ...{ month, opening: balances, closing },
      sums: [...sums].sort().map(([name, amountCents]) => {
        const [kind, bucket] = name.split(" ");
        return { kind, bucket, amountCents } as Statement["sums"][number];
      }),
      feeCents: fees.reduce((sum, cents) => sum + cents, 0),
      feeTaxCents: fees.reduce((sum, cents) => sum + taxIn(cents, TAX), 0),
    });
    balances = closing;
  }
  return statements.toReversed();
}

const next = (month: string) => {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return number === 12 ? `${year + 1}-01` : `${year}-${String(number + 1).padStart(2, "0")}`;
};

async function pages(userId: string, timeZone: string, limit: number): Promise<Statement[]> {
  const all: Statement[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await readStatements(service.services.database, userId, {
      timeZone,
      cursor: cursor ?? undefined,
      limit,
    });
    all.push(...page.statements);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all;
}

test("for random histories, months equal the ledger's entries, join without a gap, and end with the wallet, in every zone", async () => {
  const { database } = service.services;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const [from, to] = [(await createPerson(service)).id, (await createPerson(service)).id];
      let now = new Date(Date.UTC(2027, 0, 31, 22));
      for (const each of steps) {
        now = new Date(now.getTime() + each.hours * HOUR_MS);
        await setNow(now);
        await database
          .transaction(async (tx) => void (await move(tx, from, to, each)))
          .catch((error: unknown) => {
            if (!(error instanceof Overdraft)) throw error;
          });
      }
      for (const userId of [from, to]) {
        const entries = await database.query<Entry>(sql`
          SELECT kind, bucket, amount_cents AS cents, created_at AS "createdAt" FROM ledger_entries
          WHERE user_id = ${userId}::uuid AND bucket IN ('available', 'held') ORDER BY created_at`);
        const [wallet = { availableCents: 0, heldCents: 0 }] = await database.query<Statement["closing"]>(sql`
          SELECT available_cents AS "availableCents", held_cents AS "heldCents" FROM wallets WHERE user_id = ${userId}::uuid`);
        for (const timeZone of zones) {
          const expected = byHand(entries, timeZone, now);
          expect(await pages(userId, timeZone, 100)).toEqual(expected);
          expect(await pages(userId, timeZone, 2)).toEqual(expected);
          expect(expected[0]?.closing ?? wallet).toEqual(wallet);
        }
      }
    }),
    { numRuns: 12 },
  );
});

test("a person sees their own months, newest first, and somebody without money none", async () => {
  await setNow(new Date());
  const { statements, nextCursor } = (await buyer.get("/wallet/statements")).body;
  expect(statements).toMatchObject([{ opening: { availableCents: 0, heldCents: 0 }, feeCents: 0, feeTaxCents: 0 }]);
  expect(nextCursor).toBeNull();
  expect(statements[0].closing).toEqual((await buyer.get("/wallet")).body);
  expect((await (await createPerson(service)).get("/wallet/statements")).body).toEqual({
    statements: [],
    nextCursor: null,
  });
});
