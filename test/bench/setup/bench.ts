import type { Databases } from "./databases.ts";

/** One line of the report: two figures of one run, side by side, and the limits of their ratio. */
export interface Measurement {
  /** What was measured, as in `GET /tasks, 50 of 200,000`. */
  what: string;
  unit: string;
  ours: number;
  /** The figure to compare with; `against` says what it measures. */
  baseline: number;
  against: string;
  /** ours / baseline of each round, if there were several. */
  ratios?: readonly number[];
  /** ours / baseline must be at least this, or the run fails: for figures that should be high. */
  atLeast?: number;
  /** ours / baseline must be at most this, or the run fails: for figures that should be low, such as a duration. */
  atMost?: number;
  /** What the limits hold for: the ratio of the medians (the default), or that of the worst round. */
  judged?: "median" | "worst";
}

export interface BenchEnvironment {
  /** A migrated database that nothing else uses, on the embedded Postgres, without fsync. */
  databaseUrl: string;
  /** More databases on the same Postgres. */
  databases: Databases;
  /** An empty directory. */
  directory: string;
  /** Progress, for the person who waits. */
  log(line: string): void;
  /** Registers what to undo when the bench ends, even with an error; the last is undone first. */
  onEnd(undo: () => Promise<void>): void;
}

/**
 * A bench is the default export of `test/bench/<name>.ts`; `npm run bench` runs all of them, `npm run bench <name>` one.
 * Those in `test/bench/byName` run only by name. Servers and load generators run in processes of their own, and the sides
 * take turns (see `takeTurns`), so that whatever else the machine does affects all.
 */
export type Bench = (environment: BenchEnvironment) => Promise<Measurement[]>;

/** Runs all sides in turns, A B C C B A A B C …, and returns the figures of each, by round. */
export async function takeTurns<Side extends string>(
  rounds: number,
  sides: Record<Side, () => Promise<number>>,
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[]; // Object.keys does not know that there are no others.
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Side, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) figures[name].push(await sides[name]());
  }
  return figures;
}

/** The medians of two sides, and the ratio of each round. */
export function compare(ours: readonly number[], baseline: readonly number[]) {
  const ratios = ours.map((figure, round) => figure / (baseline[round] ?? Number.NaN));
  return { ours: medianOf(ours), baseline: medianOf(baseline), ratios };
}

/** `takeTurns` and `compare` for two sides. */
export async function interleave(
  rounds: number,
  ours: () => Promise<number>,
  baseline: () => Promise<number>,
): Promise<ReturnType<typeof compare>> {
  const figures = await takeTurns(rounds, { ours, baseline });
  return compare(figures.ours, figures.baseline);
}

export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle - 0.5)] ?? 0) + (sorted[Math.ceil(middle - 0.5)] ?? 0)) / 2;
}
