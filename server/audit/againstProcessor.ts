import { BALANCE, compareBalance } from "./compareBalance.ts";
import { comparePayouts, PAYOUTS, TRANSFERS } from "./comparePayouts.ts";
import { compareReversals, REVERSALS } from "./compareReversals.ts";
import { compareTopups, TOPUPS } from "./compareTopups.ts";
import type { Books, Discrepancy } from "./discrepancy.ts";

export const processorChecks: readonly string[] = [TOPUPS, TRANSFERS, PAYOUTS, REVERSALS, BALANCE];

const RECHECKS = 5;
const RECHECK_PAUSE_MS = 3_000;
/**
 * Our rows and the processor's objects are created at slightly different times, so the lists start a little earlier.
 */
const MARGIN_SECONDS = 3_600;

/**
 * Compares our rows since `since` (null: all) with the processor's lists. Throws ProcessorUnavailable or ProcessorRefused.
 */
export const compareWithProcessor = (books: Books, since: Date | null): Promise<Discrepancy[]> =>
  findLasting(
    () => compareOnce(books, since),
    ({ check, subject }) => `${check} ${subject}`,
  );

/**
 * Our rows and the processor's lists cannot be read at the same moment, so what is found is looked for again, up to 5 times and
 * 3 seconds apart, while events under way arrive. Returns what was found every time.
 */
export async function findLasting<Found>(
  find: () => Promise<readonly Found[]>,
  keyOf: (found: Found) => string,
  pauseMs = RECHECK_PAUSE_MS,
): Promise<Found[]> {
  let lasting = [...(await find())];
  for (let recheck = 0; recheck < RECHECKS && lasting.length > 0; recheck++) {
    await new Promise((resume) => setTimeout(resume, pauseMs));
    const foundAgain = new Set((await find()).map(keyOf));
    lasting = lasting.filter((found) => foundAgain.has(keyOf(found)));
  }
  return lasting;
}

/** Compares once, so events under way may show up as discrepancies. */
export async function compareOnce(books: Books, since: Date | null): Promise<Discrepancy[]> {
  const sinceSeconds = since === null ? 0 : Math.max(0, Math.floor(since.getTime() / 1000) - MARGIN_SECONDS);
  const from = (since ?? new Date(0)).toISOString();
  return [
    ...(await compareTopups(books, from, sinceSeconds)),
    ...(await comparePayouts(books, from, sinceSeconds)),
    ...(await compareReversals(books, since === null, sinceSeconds)),
    ...(await compareBalance(books, sinceSeconds)),
  ];
}
