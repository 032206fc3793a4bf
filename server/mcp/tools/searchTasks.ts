import { z } from "zod";
import { Bid, bidStatuses } from "../../schemas/bid.ts";
import { InputTimestamp, MAX_INT32, NextCursor, text } from "../../schemas/common.ts";
import { TaskListItem, taskStatuses } from "../../schemas/task.ts";
import { type AnswerText, count, estimateTokens, money } from "../text.ts";
import { type Job, plainTool } from "../tool.ts";
import { separateUntrusted } from "../untrusted.ts";

const DEFAULT_LIMIT = 20;
/** What a page takes that nobody has asked to be longer, answer and structured content together. */
const MAX_PAGE_TOKENS = 3_800;
/** The characters of a task's tags in a list, so that even the longest item leaves room for others. */
const MAX_TAG_CHARACTERS = 80;

const Item = TaskListItem.extend({
  tagsTruncated: z.literal(true).optional().meta({ description: "Present if there are more tags: see get_task." }),
});
type Item = z.infer<typeof Item>;

const BidItem = Bid.pick({ id: true, taskId: true, priceCents: true, etaHours: true, status: true, createdAt: true });
type BidItem = z.infer<typeof BidItem>;

/** The market, and what the caller has posted, was awarded, or has bid on. */
export const searchTasks = plainTool({
  name: "search_tasks",
  title: "Search tasks",
  description:
    "Finds work: open tasks of the market, newest first. With `whose`, lists your own instead: tasks that you `posted`, " +
    "tasks that you were `awarded`, or your `bids` (with the taskId of each). Read a task with get_task before you bid on it.",
  procedures: ["tasks.list", "tasks.listOwn", "bids.listOwn"],
  kind: "read",
  input: z.strictObject({
    whose: z.enum(["market", "posted", "awarded", "bids"]).default("market"),
    status: z
      .array(z.enum([...new Set([...taskStatuses, ...bidStatuses])]))
      .min(1)
      .optional()
      .meta({
        description: `Of tasks: ${taskStatuses.join(", ")}; the market has open ones by default. Of bids: ${bidStatuses.join(", ")}.`,
      }),
    query: text(2, 80).optional().meta({ description: "Market only: a text that the title contains, in any case." }),
    tag: text(1, 160).optional().meta({ description: "Of tasks: a whole tag, in any case." }),
    minBudget: z.int().min(0).max(MAX_INT32).optional().meta({ description: "Market only: integer cents, inclusive." }),
    maxBudget: z.int().min(0).max(MAX_INT32).optional().meta({ description: "Market only: integer cents, inclusive." }),
    cursor: InputTimestamp.optional().meta({ description: "`nextCursor` of the previous page, unchanged." }),
    limit: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: `Rows. Left out: up to ${DEFAULT_LIMIT}, fewer if they are long.` }),
  }),
  output: z.object({
    tasks: z.array(Item).optional(),
    bids: z.array(BidItem).optional(),
    nextCursor: NextCursor,
  }),
  async run(job, { whose, status, limit, cursor, ...filters }) {
    const page = { cursor, limit: limit ?? DEFAULT_LIMIT };
    // A status of the other kind is refused by the procedure, with its own list.
    const ofBids = status && { status: status as (typeof bidStatuses)[number][] };
    const ofTasks = status && { status: status as (typeof taskStatuses)[number][] };
    const isBounded = limit === undefined;
    if (whose === "bids") {
      const { bids, nextCursor } = await job.api.bids.listOwn({ ...page, ...ofBids, ...filters });
      const shown = show(job, bids, nextCursor, lineOfBid, isBounded);
      return { bids: shown.items, nextCursor: shown.nextCursor };
    }
    const found =
      whose === "market"
        ? await job.api.tasks.list({ ...page, ...ofTasks, ...filters })
        : await job.api.tasks.listOwn({
            ...page,
            ...ofTasks,
            ...filters,
            role: whose === "posted" ? "buyer" : "bidder",
          });
    const shown = show(job, found.tasks.map(shortenTags), found.nextCursor, lineOfTask, isBounded);
    if (shown.items.length > 0) job.text.next("get_task with the taskId of one that fits.");
    return { tasks: shown.items, nextCursor: shown.nextCursor };
  },
});

/** Says as many rows as fit, at least one, and where the next page begins. */
function show<Row extends { createdAt: string }>(
  { text }: Job,
  rows: readonly Row[],
  nextCursor: string | null,
  lineOf: (text: AnswerText, row: Row) => string,
  isBounded: boolean,
) {
  const items: Row[] = [];
  let tokens = 0;
  for (const row of rows) {
    const line = lineOf(text, row);
    tokens += estimateTokens(line + JSON.stringify(separateUntrusted(row)));
    if (isBounded && items.length > 0 && tokens > MAX_PAGE_TOKENS) break;
    text.say(line);
    items.push(row);
  }
  const next = items.length < rows.length ? (items.at(-1)?.createdAt ?? null) : nextCursor;
  if (items.length === 0) text.say("Nothing found.");
  else text.say(next === null ? "That is all." : `There may be more: call again with cursor ${next}.`);
  return { items, nextCursor: next };
}

function lineOfTask(text: AnswerText, { id, title, status, maxBudgetCents, bidCount }: Item): string {
  return `- ${id}: ${status}, up to ${money(maxBudgetCents)}, ${count(bidCount, "bid")}. ${text.quote(title)}`;
}

function lineOfBid(_text: AnswerText, { id, taskId, status, priceCents, etaHours }: BidItem): string {
  return `- bid ${id} on task ${taskId}: ${status}, ${money(priceCents)}, ${etaHours} hours`;
}

function shortenTags(task: TaskListItem): Item {
  let rest = MAX_TAG_CHARACTERS;
  const tags = task.tags.filter((tag) => {
    rest -= tag.length;
    return rest >= 0;
  });
  return { ...task, tags, ...(tags.length < task.tags.length && { tagsTruncated: true as const }) };
}
