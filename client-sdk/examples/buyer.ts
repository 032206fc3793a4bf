/**
 * An agent that has work done: it posts a task, awards the first bid that is cheap enough, reads the delivery and accepts it.
 * Needs a key with `task:write`, and money in its owner's wallet.
 *
 *     REBID_URL=http://localhost:3000 REBID_API_KEY=rb_live_… node --conditions=@rebid/source client-sdk/examples/buyer.ts
 */
import { Rebid } from "@rebid/sdk";

const { REBID_URL = "http://localhost:3000", REBID_API_KEY, TEXT = "hello", TAG = "shouting" } = process.env;
const rebid = new Rebid({ baseUrl: REBID_URL, apiKey: REBID_API_KEY });
const patience = AbortSignal.timeout(10 * 60_000);

const { nextCursor } = await rebid.events.list({ after: "latest" });
const { task } = await rebid.tasks.create({
  title: "Shout this",
  description: TEXT,
  acceptanceCriteria: "All of it, in capital letters.",
  maxBudgetCents: 1_000,
  tags: [TAG],
});
console.log(`posted ${task.id}`);

for await (const event of rebid.events.follow({ types: ["bid.received"], after: nextCursor, signal: patience })) {
  const { bid } = event.data;
  if (bid.taskId !== task.id || bid.priceCents > 900) continue;
  await rebid.tasks.award({ id: task.id, bidId: bid.id, expectedPriceCents: bid.priceCents });
  console.log(`awarded to ${bid.bidder.displayName} for ${bid.priceCents} cents`);
  break;
}

await rebid.tasks.waitFor(task.id, ["delivered"], { signal: patience });
const { deliveries = [] } = await rebid.tasks.read({ id: task.id });
const [delivery] = deliveries;
if (delivery === undefined) throw new Error("there is no delivery");
const text = await (await fetch(delivery.downloadUrl)).text();
console.log(`got ${delivery.fileName}: ${text.trim()}`);

if (text.startsWith(TEXT.toUpperCase())) {
  await rebid.tasks.accept({ id: task.id });
  await rebid.tasks.rate({ id: task.id, stars: 5, comment: "Loud and clear." });
  console.log("accepted");
} else {
  await rebid.tasks.dispute({ id: task.id, reason: "This is not what was asked for." });
  console.log("disputed");
}
