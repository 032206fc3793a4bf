import type { TaskListItem } from "../../schemas/task.ts";
import type { Connection } from "../../store/connection.ts";
import { feed } from "./feed.ts";
import { isUnfiltered, type TaskSearch } from "./filters.ts";
import { SAMPLED_SHARE, sampleMatches } from "./sample.ts";
import { findBetween, secondsOf, type TimeRange } from "./timeRange.ts";
import { walkNewest } from "./walk.ts";

/*
 * The figures in `server/market/search` are milliseconds of the whole search for 50 of the 1,000,000 tasks of
 * `npm run bench search`. The plainest way (pg_trgm, and indexes on tags and budgets) took 310 to 590 for matches that are all
 * among the oldest tasks and for two characters that no title has, where this takes at most 6. For the rest, it took 0.2 to 44
 * where this takes 0.2 to 23.
 */

/** How much of a page step 1 needs to guess from. Half of it took 1.7 to 2.3 times as long; a twentieth was no faster. */
const ENOUGH_SHARE = 1 / 5;
/**
 * How many times as many matches as are missing a guessed range should hold: 1.2 often needed a second statement (2.0 became
 * 4.7 ms), 4 fetched more than necessary (2.0 became 2.4).
 */
const SURPLUS = 2;
/** How many matches of the sample are looked at for a guess; with 32, the last lies too far back: 2.8 became 7.3 ms. */
const MAX_AHEAD = 8;
/**
 * How many matches of the sample a range of step 3 has beyond those that should be enough. With one, every 16th search would
 * need a second range; eight took 1.3 times as long.
 */
const SPARE_SAMPLED = 3;

/**
 * Returns the newest tasks that match, newest first, in a few statements. Frequent matches are found among the
 * newest rows of the feed. For the rest, the inverted index returns all matches in a time range:
 * 1. Where the rows already read had some matches, the range that holds the missing ones if matches go on coming as often:
 *    half of the time (2 ms, not 4 to 6) for what every 5th to 25th task matches.
 * 2. Else a sample of the matches says how far back the range must reach. Where matches come as evenly as in the sample, it
 *    is guessed as above: half of the time (2.2 ms, not 4.7) for what every 1,000th task matches.
 * 3. Else it reaches back to a match of the sample, and some hundreds are fetched. Matches that are too rare to be in the
 *    sample are all fetched.
 */
export async function searchTasks(connection: Connection, search: TaskSearch): Promise<TaskListItem[]> {
  const { limit } = search;
  if (isUnfiltered(search)) {
    // The front page asks for one status, and its best plan is always the same.
    const isFrontPage = search.statuses.length === 1;
    return connection.query<TaskListItem>(
      feed(search, limit),
      isFrontPage ? { sharesConnection: true } : { plan: "fresh" },
    );
  }
  const { found, isComplete, newestAt, reachedAt, queryTerms } = await walkNewest(connection, search);
  if (found.length === limit || isComplete || newestAt === null || reachedAt === null) return found;

  let before: string | null = reachedAt;
  const find = async (range: TimeRange) => {
    found.push(...(await findBetween(connection, search, queryTerms, range, limit - found.length)));
    return range.since;
  };
  if (found.length >= limit * ENOUGH_SHARE) {
    const secondsEach = (secondsOf(newestAt) - secondsOf(reachedAt)) / found.length;
    const since = sinceAtThisRate(reachedAt, secondsEach, limit - found.length);
    before = await find({ since, before, isStatusRare: true });
  }
  if (found.length === limit || before === null) return found;
  const { sampled, isStatusRare } = await sampleMatches(connection, search, queryTerms, before);
  const near = sinceIfEven(sampled, before, limit - found.length);
  if (near !== null) {
    before = await find({ since: near, before, isStatusRare });
    const isNear = (createdAt: string) => secondsOf(createdAt) >= secondsOf(near);
    sampled.splice(0, sampled.findLastIndex(isNear) + 1);
  }
  while (found.length < limit && before !== null) {
    const ahead = Math.ceil((limit - found.length) / SAMPLED_SHARE) + SPARE_SAMPLED;
    before = await find({ since: sampled.splice(0, ahead)[ahead - 1] ?? null, before, isStatusRare });
  }
  return found;
}

/**
 * Returns since when there should be enough matches before `before`, if they come as evenly as the next ones of the sample do;
 * null if those do not, or are too few to say.
 */
function sinceIfEven(sampled: readonly string[], before: string, missing: number): string | null {
  const ahead = Math.min(sampled.length, MAX_AHEAD);
  const [first, last] = [sampled[0], sampled[ahead - 1]];
  if (first === undefined || last === undefined) return null;
  const secondsTo = (createdAt: string) => secondsOf(before) - secondsOf(createdAt);
  // The first is as far away as half of them or more, such as when all matches are among the oldest tasks, or there is only one.
  if (2 * secondsTo(first) > secondsTo(last)) return null;
  return sinceAtThisRate(before, secondsTo(last) / (ahead * SAMPLED_SHARE), missing);
}

/** Returns since when there should be `SURPLUS` times the missing matches, if one comes in so many seconds. */
function sinceAtThisRate(before: string, secondsEach: number, missing: number): string {
  const seconds = Math.floor(secondsOf(before) - SURPLUS * missing * secondsEach - 1);
  return new Date(Math.max(0, seconds) * 1000).toISOString();
}
