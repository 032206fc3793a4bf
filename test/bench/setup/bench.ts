/** One line of the report: two figures of one run, side by side, and the limits of their ratio. */
export interface Measurement {
  /** What was measured, as in `GET /tasks, 50 of 200,000`. */
  what: string;
  unit: string;
  ours: number;
  /** The figure to compare with; `against` says what it measures. */
  baseline: number;
  against: string;
  /** ours / baseline must be at least this, or the run fails: for figures that should be high. */
  atLeast?: number;
  /** ours / baseline must be at most this, or the run fails: for figures that should be low, such as a duration. */
  atMost?: number;
}

export interface BenchEnvironment {
  /** A migrated database that nothing else uses, on the embedded Postgres, without fsync. */
  databaseUrl: string;
  /** An empty directory. */
  directory: string;
  /** Progress, for the person who waits. */
  log(line: string): void;
  /** Registers what to undo when the bench ends, even with an error; the last is undone first. */
  onEnd(undo: () => Promise<void>): void;
}

/**
 * A bench is the default export of `test/bench/<name>.ts`; `npm run bench <name>` runs it, `npm run bench` all of them.
 * Servers and load generators run in processes of their own, and the two sides take turns (see `interleave`), so that
 * whatever else the machine does affects both.
 */
export type Bench = (environment: BenchEnvironment) => Promise<Measurement[]>;

/** Runs both sides in turns, A B B A A B …, and returns the median of each. */
export async function interleave(
  rounds: number,
  ours: () => Promise<number>,
  baseline: () => Promise<number>,
): Promise<{ ours: number; baseline: number }> {
  const figures: { ours: number[]; baseline: number[] } = { ours: [], baseline: [] };
  for (let round = 0; round < rounds; round++) {
    const turns = [
      async () => void figures.ours.push(await ours()),
      async () => void figures.baseline.push(await baseline()),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  return { ours: medianOf(figures.ours), baseline: medianOf(figures.baseline) };
}

export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle - 0.5)] ?? 0) + (sorted[Math.ceil(middle - 0.5)] ?? 0)) / 2;
}
