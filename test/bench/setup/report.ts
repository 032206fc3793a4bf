import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { Measurement } from "./bench.ts";

/** One line of the table, as `test/bench/results.json` keeps it. Ratios are rounded to three digits. */
export interface Result {
  bench: string;
  what: string;
  against: string;
  unit: string;
  ours: number;
  baseline: number;
  ratio: number;
  /** The ratio of the worst round, which for `atMost` is the highest. */
  worst: number;
  target: string;
  verdict: "ok" | "TOO SLOW" | "SLOWER THAN BEFORE" | "";
  /** The ratio of the last committed run, if it had this line. */
  before?: number;
}

/** A ratio may be worse than the committed one by this share; a quiet machine repeats them within half of it. */
const NOISE = 0.12;

const committedFile = "test/bench/results.json";
const columns = [
  "what",
  "unit",
  "ours",
  "against",
  "baseline",
  "ratio",
  "worst",
  "target",
  "before",
  "verdict",
] as const;

/** Judges measurements by their limits, and by the results of the last committed run. */
export function judge(bench: string, measurements: readonly Measurement[], committed: readonly Result[]): Result[] {
  return measurements.map((measurement) => {
    const { what, against, unit, ours, baseline, ratios, atLeast, atMost, judged = "median" } = measurement;
    const ratio = ours / baseline;
    const rounds = ratios ?? [ratio];
    const worst = atMost === undefined ? Math.min(...rounds) : Math.max(...rounds);
    const counted = judged === "worst" ? worst : ratio;
    const isTooSlow = counted < (atLeast ?? 0) || counted > (atMost ?? Number.POSITIVE_INFINITY);
    const limits = [
      atLeast === undefined ? [] : [`≥ ${atLeast}`],
      atMost === undefined ? [] : [`≤ ${atMost}`],
      judged === "worst" ? ["in the worst round"] : [],
    ];
    const earlier = committed.find((line) => line.bench === bench && line.what === what && line.against === against);
    // Beyond noise: worse than the committed median by more than the share, and than the committed run's worst round.
    const isSlower =
      earlier !== undefined &&
      (atMost === undefined
        ? ratio < Math.min(earlier.ratio * (1 - NOISE), earlier.worst)
        : ratio > Math.max(earlier.ratio * (1 + NOISE), earlier.worst));
    const isLimited = limits.flat().length > 0;
    return {
      ...{ bench, what, against, unit, ours: rounded(ours), baseline: rounded(baseline) },
      ...{ ratio: rounded(ratio), worst: rounded(worst), target: limits.flat().join(" ") },
      verdict: isTooSlow ? "TOO SLOW" : isSlower && isLimited ? "SLOWER THAN BEFORE" : isLimited ? "ok" : "",
      ...(earlier !== undefined && { before: earlier.ratio }),
    };
  });
}

const rounded = (value: number) => Number(value.toPrecision(4));

/** Returns the results of the last commit that has some. */
export async function readCommitted(): Promise<Result[]> {
  try {
    const { stdout } = await promisify(execFile)("git", ["show", `HEAD:${committedFile}`]);
    return JSON.parse(stdout);
  } catch {
    return []; // A checkout without git, or without results.
  }
}

export const hasPassed = ({ verdict }: Result) => verdict === "ok" || verdict === "";

/** Prints all lines as one table. */
export function printTable(results: readonly Result[]): void {
  const figure = (value: string | number | undefined) =>
    typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : (value ?? "");
  const headings: Record<(typeof columns)[number], string> = {
    ...{ what: "what", unit: "unit", ours: "ours", against: "yardstick", baseline: "its figure" },
    ...{ ratio: "ratio", worst: "worst round", target: "target", before: "before", verdict: "" },
  };
  const lines = [headings, ...results].map((line) => columns.map((column) => figure(line[column])));
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => (line[index] ?? "").length)));
  for (const line of lines)
    console.log(
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

export async function writeResults(results: readonly Result[], file: string = committedFile): Promise<void> {
  const kept = results.map(({ before: _, ...line }) => line);
  await writeFile(file, `${JSON.stringify(kept, null, 2)}\n`);
}
