import type { TaskListItem } from "../../schemas/task.ts";
import type { Connection } from "../../store/connection.ts";
import { feed } from "./feed.ts";
import { isUnfiltered, type TaskSearch } from "./filters.ts";
import { SAMPLED_SHARE, sampleMatches } from "./sample.ts";
import { findBetween, secondsOf, type TimeRange } from "./timeRange.ts";
import { walkNewest } from "./walk.ts";

/** Of fewer, one rarely lies where the average would. More lie too far back. */
const MIN_AHEAD = 3;
const MAX_AHEAD = 8;

/**
 * Returns the newest tasks that match, newest first, in a few statements. Frequent matches are found among the
 * newest rows of the feed. For the rest, the inverted index returns all matches in a time range, and a sample of the
 * matches tells how far back that range must reach, so that few more are fetched than were asked for: twice as many where
 * matches come as evenly as in the sample, otherwise some hundreds. Matches that are too rare to be in the sample are all
 * fetched.
 */
export async function searchTasks(connection: Connection, search: TaskSearch): Promise<TaskListItem[]> {
  const { limit } = search;
  if (isUnfiltered(search)) {
    // The front page asks for one status, and its best plan is always the same.
    const isFrontPage = search.statuses.length === 1;
    return connection.query<TaskListItem>(
      feed(search, limit),
      isFrontPage ? { changesNothing: true } : { plan: "fresh" },
    );
  }
  const { found, isComplete, newestAt, reachedAt, queryTerms } = await walkNewest(connection, search);
  if (found.length === limit || isComplete || newestAt === null || reachedAt === null) return found;

  let before: string | null = reachedAt;
  const find = async (range: TimeRange) => {
    found.push(...(await findBetween(connection, search, queryTerms, range, limit - found.length)));
    return range.since;
  };
  if (found.length >= limit / 5) {
    // Enough matches to do without a sample: look back twice as far as the missing ones should need.
    const expected = ((secondsOf(newestAt) - secondsOf(reachedAt)) * (limit - found.length)) / found.length;
    const since = timestampOf(Math.max(0, Math.floor(secondsOf(reachedAt) - 2 * expected - 1)));
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
    // On average this range holds more matches than are missing; if not, the next one has the rest.
    const ahead = Math.ceil((limit - found.length) / SAMPLED_SHARE) + 3;
    before = await find({ since: sampled.splice(0, ahead)[ahead - 1] ?? null, before, isStatusRare });
  }
  return found;
}

/**
 * Returns since when there are twice as many matches as are missing, if they come as evenly as the next ones of the sample
 * do; null if those do not, or are too few to say.
 */
function sinceIfEven(sampled: readonly string[], before: string, missing: number): string | null {
  const ahead = Math.min(sampled.length, MAX_AHEAD);
  const [first, last] = [sampled[0], sampled[ahead - 1]];
  if (first === undefined || last === undefined || ahead < MIN_AHEAD) return null;
  const secondsTo = (createdAt: string) => secondsOf(before) - secondsOf(createdAt);
  // Such as matches that are all among the oldest tasks: nothing is near.
  if (2 * secondsTo(first) > secondsTo(last)) return null;
  const seconds = secondsTo(last) * ((2 * missing) / (ahead * SAMPLED_SHARE));
  return timestampOf(secondsOf(before) - Math.ceil(seconds) - 1);
}

const timestampOf = (seconds: number) => new Date(seconds * 1000).toISOString();
