/**
 * Random sequences of every money command against the real database and a small model of it.
 *
 * PROPERTY_SEQUENCES sets their number (250 by default, plus a quarter as many parallel ones; CI also runs 1,000 of its
 * own); PROPERTY_SEED repeats a run. What chance does not reach for certain in 250 is an example of its own.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { taskStatuses } from "../../../server/schemas/task.ts";
import { sql } from "../../../server/store/connection.ts";
import { type Database, openDatabase } from "../../../server/store/database.ts";
import { setFee } from "../../factories/fees.ts";
import { createTestDatabase, type TestDatabase } from "../../setup/testDatabase.ts";
import { commandOf, usedUpRounds, type Wish, wish } from "./commands.ts";
import { type Command, FEE, Model, type Outcome } from "./model.ts";
import { differencesOf, type Observed, type Result, Stage } from "./stage.ts";

const sequences = Number(process.env.PROPERTY_SEQUENCES ?? 250);
const seed = Number(process.env.PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31));
const USERS = 5;
/** fast-check runs its sequences one after the other, so several instances of it run in parallel. */
const LANES = 4;
/** Commands that run in parallel; all of their orders are tried (120). */
const AT_ONCE = 5;
const TIMEOUT_MS = 120_000 + sequences * 500;

let testDatabase: TestDatabase;
let database: Database;
const errors: string[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase(testDatabase.url, { poolSize: 20 });
  // Thousands of observations read the events of a few tasks and the entries of a few transfers.
  const owner = openDatabase(testDatabase.ownerUrl, { poolSize: 1 });
  await owner.query(sql`CREATE INDEX ON events (task_id)`);
  await owner.query(sql`CREATE INDEX ON ledger_entries (transfer_id)`);
  await owner.close();
  await setFee({ services: { database } }, FEE);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** How often each kind of command had each outcome, to show that a run was not trivial. */
class Tally {
  readonly reached = new Set<string>();
  readonly #counts = new Map<string, Map<Outcome, number>>();

  add(kind: Command["kind"], outcome: Outcome): void {
    const outcomes = this.#counts.get(kind) ?? new Map<Outcome, number>();
    this.#counts.set(kind, outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1));
  }

  /** Records the final states of the tasks of a sequence. */
  addEnds(model: Model): void {
    for (const { status } of model.tasks.values()) this.reached.add(status);
  }

  get acceptedShare(): number {
    const all = [...this.#counts.values()].flatMap((outcomes) => [...outcomes]);
    const sum = (entries: [Outcome, number][]) => entries.reduce((total, [, count]) => total + count, 0);
    return sum(all.filter(([outcome]) => outcome === "accepted")) / sum(all);
  }

  /** Every outcome that occurred. */
  get outcomes(): Set<Outcome> {
    return new Set([...this.#counts.values()].flatMap((outcomes) => [...outcomes.keys()]));
  }

  /** The kinds of command that were accepted at least once. */
  get acceptedKinds(): string[] {
    return [...this.#counts].filter(([, outcomes]) => outcomes.has("accepted")).map(([kind]) => kind);
  }

  print(title: string): void {
    console.log(`${title}, seed ${seed}: ${(this.acceptedShare * 100).toFixed(1)} % of the commands were accepted`);
    console.table(
      Object.fromEntries([...this.#counts].map(([kind, outcomes]) => [kind, Object.fromEntries(outcomes)])),
    );
  }
}

/** Runs a property in parallel lanes; fast-check shrinks and prints failures. */
async function check<Value>(
  arbitrary: fc.Arbitrary<Value>,
  runs: number,
  property: (value: Value) => Promise<void>,
  examples: Value[] = [],
): Promise<void> {
  const numRuns = Math.ceil(runs / LANES);
  await Promise.all(
    Array.from({ length: LANES }, (_, lane) =>
      fc.assert(fc.asyncProperty(arbitrary, property), {
        ...{ numRuns, seed: seed + lane, examples: lane === 0 ? examples.map((value): [Value] => [value]) : [] },
      }),
    ),
  );
}

const allKinds: Command["kind"][] = [
  ...([
    "topUp",
    "repeatTopUp",
    "refund",
    "chargeback",
    "payOut",
    "payoutNews",
    "post",
    "editBudget",
    "cancel",
    "bid",
    "editBid",
  ] as const),
  ...(["withdraw", "award", "deliver", "accept", "autoAccept", "judge", "expire", "dispute", "resolve"] as const),
  ...([
    "requestChanges",
    "declineChanges",
    "endRound",
    "giveBack",
    "propose",
    "answer",
    "lapseAgreement",
    "passHours",
    "repeat",
  ] as const),
];
const allRefusals: Outcome[] = [
  ...(["insufficient_funds", "budget_locked_by_bids", "price_above_budget", "forbidden"] as const),
  ...(["wrong_status", "bid_invalid", "active_bid_exists", "onboarding_required"] as const),
  ...(["already_disputed", "invalid_input", "not_found", "idempotency_conflict"] as const),
  ...(["no_revisions_left", "agreement_pending"] as const),
];

/** Runs one command on both sides. The outcome must be what the model predicts, and a refusal must change nothing. */
async function step(stage: Stage, model: Model, wished: Wish, before: Observed, tally: Tally): Promise<Observed> {
  const command = commandOf(wished, model, stage.users);
  const result = await stage.perform(command, wished.asks);
  const predicted = model.apply(command, result.createdId);
  expect(result.outcome, `outcome of ${JSON.stringify(command)}`).toBe(predicted);
  tally.add(command.kind, result.outcome);
  const after = await stage.observe();
  if (result.outcome !== "accepted") {
    expect(after.digest, `what the refused ${JSON.stringify(command)} changed`).toBe(before.digest);
  }
  expect(differencesOf(model, after), `after ${JSON.stringify(command)}`).toEqual([]);
  return after;
}

test(
  "every sequence of money commands ends as a simple model says, and a refused command changes nothing",
  async () => {
    const tally = new Tally();
    const play = async (wishes: Wish[]) => {
      const stage = await Stage.open(database, USERS, errors);
      const model = new Model(stage);
      let observed = await stage.observe();
      for (const wished of wishes) observed = await step(stage, model, wished, observed, tally);
      tally.addEnds(model);
      expect(await stage.breaches()).toEqual([]);
    };
    await check(fc.array(wish, { minLength: 10, maxLength: 40, size: "max" }), sequences, play, [usedUpRounds]);
    tally.print(`${sequences} sequences`);
    expect(errors).toEqual([]);
    expect(tally.acceptedKinds.toSorted()).toEqual(allKinds.toSorted());
    expect([...tally.reached].toSorted()).toEqual(taskStatuses.toSorted());
    expect([...tally.outcomes].toSorted()).toEqual(["accepted" as const, ...allRefusals].toSorted());
    expect(tally.acceptedShare).toBeGreaterThan(0.5);
    expect(tally.acceptedShare).toBeLessThan(0.95);
  },
  TIMEOUT_MS,
);

/** All permutations: the outcome of parallel commands must equal that of one of them. */
function* ordersOf<Item>(items: readonly Item[]): Generator<Item[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of ordersOf(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

/** Whether some sequential order of the commands has exactly these outcomes and this final state. */
function isSerial(model: Model, done: { command: Command; result: Result }[], observed: Observed): boolean {
  for (const order of ordersOf(done)) {
    const trial = model.clone();
    const agrees = order.every(({ command, result }) => trial.apply(command, result.createdId) === result.outcome);
    if (agrees && differencesOf(trial, observed).length === 0) return true;
  }
  return false;
}

test(
  "commands at the same time end as they would one after the other, in some order",
  async () => {
    const tally = new Tally();
    const scene = fc.record({
      before: fc.array(wish, { minLength: 10, maxLength: 30, size: "max" }),
      atOnce: fc.array(
        wish.filter(({ kind }) => kind !== "passHours"),
        { minLength: 2, maxLength: AT_ONCE, size: "max" },
      ),
    });
    await check(scene, Math.ceil(sequences / 4), async ({ before, atOnce }) => {
      const stage = await Stage.open(database, USERS, errors);
      const model = new Model(stage);
      let observed = await stage.observe();
      for (const wished of before) observed = await step(stage, model, wished, observed, new Tally());
      const commands = atOnce.map((wished) => commandOf(wished, model, stage.users));
      const done = await Promise.all(
        commands.map(async (command) => ({ command, result: await stage.perform(command) })),
      );
      for (const { command, result } of done) tally.add(command.kind, result.outcome);
      const end = await stage.observe();
      expect(isSerial(model, done, end), `no order explains ${JSON.stringify(done)}`).toBe(true);
      expect(await stage.breaches()).toEqual([]);
    });
    tally.print(`${Math.ceil(sequences / 4)} sequences with commands at once`);
    expect(errors).toEqual([]);
    expect(tally.acceptedShare).toBeGreaterThan(0.4);
    expect(tally.acceptedShare).toBeLessThan(0.95);
  },
  TIMEOUT_MS,
);
