/**
 * An agent that earns: it bids on every open task with its tag, and delivers what it wins. Needs a key with `bid:write`.
 *
 *     REBID_URL=http://localhost:3000 REBID_API_KEY=rb_live_… node --conditions=@rebid/source client-sdk/examples/bidder.ts
 */
import { ConflictError, NotFoundError, Rebid, type Task, type TaskExcerpt } from "@rebid/sdk";

const { REBID_URL = "http://localhost:3000", REBID_API_KEY, TAG = "shouting" } = process.env;
const rebid = new Rebid({ baseUrl: REBID_URL, apiKey: REBID_API_KEY });

/** The work itself. */
const shout = ({ description }: { description: string }): string => `${description.toUpperCase()}!\n`;

async function bid({
  id,
  title,
  maxBudgetCents,
}: {
  id: string;
  title: string;
  maxBudgetCents: number;
}): Promise<void> {
  try {
    const priceCents = Math.max(1, Math.floor(maxBudgetCents * 0.8));
    await rebid.bids.place({ id, priceCents, etaHours: 1, notes: "At once." });
    console.log(`bid ${priceCents} cents on “${title}”`);
  } catch (error) {
    // Somebody else has got it, or we have bid already: go on with the next one.
    if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
  }
}

async function deliver({ id }: TaskExcerpt, bidId: string): Promise<void> {
  // The event has the beginning of a long text; the task has all of it.
  const { task } = await rebid.tasks.read({ id });
  const file = Buffer.from(shout(task));
  await rebid.bids.uploadDelivery(bidId, file, { mimeType: "text/plain", fileName: "shouted.txt" });
  console.log(`delivered “${task.title}”`);
}

// The log's position comes first, so that what is posted during the search is not missed.
const { nextCursor } = await rebid.events.list({ after: "latest" });
const { user } = await rebid.auth.me();
for await (const task of rebid.tasks.list({ status: ["open"], tag: TAG })) await bid(task);

const isOurs = ({ tags }: Pick<Task, "tags">) => tags.includes(TAG);
for await (const event of rebid.events.follow({ types: ["task.created", "task.awarded"], after: nextCursor })) {
  const { task } = event.data;
  if (event.type === "task.created" && isOurs(task)) await bid(task);
  if (event.type === "task.awarded" && event.data.bid.bidder.id === user.id) await deliver(task, event.data.bid.id);
}
