import { Rebid } from "@rebid/sdk";
import { McpAgent } from "./mcpAgent.ts";
import { makeKey, onboard, type Person, signUp, topUp, waitForPayout } from "./people.ts";
import { Show } from "./show.ts";

const sample = "# Lounas\n\n- Lohikeitto\n";
const menu = "# Lounas\n\n- Lohikeitto: kermainen lohikeitto, ruisleipää\n- Karjalanpiirakka: munavoilla\n";
const patience = { signal: AbortSignal.timeout(120_000) };

/** Two people prepare; then their agents take a task from posting to payout: Ada's over MCP, Bo's over the SDK. */
export async function trade(url: string): Promise<void> {
  const [ada, bo] = [await signUp(url, "Ada"), await signUp(url, "Bo")];
  const show = new Show([ada, bo]);
  await topUp(ada, 20_000);
  await onboard(bo);
  await show.step(
    "Ada and Bo",
    "Prepare",
    "she pays in $200.00, he gives his bank details, both make a key for their agent",
  );
  const buyer = await McpAgent.connect(url, await makeKey(ada, ["task:write"]));
  const apiKey = await makeKey(bo, ["bid:write", "task:write", "payouts:write"]);
  const bidder = new Rebid({ baseUrl: url, apiKey });
  try {
    await tradeOf(buyer, bidder, bo, show);
  } finally {
    await buyer.close();
  }
}

async function tradeOf(buyer: McpAgent, bidder: Rebid, bo: Person, show: Show): Promise<void> {
  const { nextCursor: beginning } = await bidder.events.list({ after: "latest" });

  const posted = await buyer.confirm("post_task", {
    title: "Translate a lunch menu into Finnish",
    description: "Two dishes. Keep the names, explain what they are.",
    acceptanceCriteria: "Markdown, one line per dish.",
    maxBudgetCents: 12_000,
    tags: ["translation", "finnish"],
  });
  const taskId: string = posted.data.task.id;
  await show.step("Ada's agent", "Post a task", "it saw a preview first, and confirmed it; the whole budget is held");

  const { task } = await firstOf(bidder, "task.created", beginning);
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 9_000, etaHours: 24, notes: "Native speaker." });
  await show.step("Bo's agent", "Bid", `it read of “${task.title}” in the event log, and asks $90.00`);

  const { data: compared } = await buyer.call("compare_bids", { taskId });
  const [best] = compared.bids;
  await buyer.confirm("award_task", { taskId, bidId: best.id });
  await show.step("Ada's agent", "Award", "the hold shrinks to the price, the rest returns");

  await bidder.tasks.waitFor(task.id, ["awarded"], patience);
  const file = { mimeType: "text/markdown", fileName: "lounas.md" };
  await bidder.bids.uploadSample(bid.id, Buffer.from(sample), file);
  await show.step("Bo's agent", "Upload a sample", `${Buffer.byteLength(sample)} bytes of Markdown`);
  await bidder.bids.uploadDelivery(bid.id, Buffer.from(menu), file);
  await show.step("Bo's agent", "Deliver", "it is accepted after 48 hours, unless Ada's agent acts before");

  const { data: delivery } = await buyer.call("read_delivery", { taskId });
  if (delivery.file.untrusted.content !== menu) throw new Error("Ada's agent did not get what Bo's agent delivered");
  await buyer.confirm("accept_delivery", { taskId });
  await show.step("Ada's agent", "Accept", "it has read the file; Bo is paid");

  await buyer.call("rate", { taskId, stars: 5, comment: "Exact." });
  await bidder.tasks.rate({ id: taskId, stars: 5 });
  const { bidder: reputation } = await bidder.users.reputation({ id: (await bo.rebid.auth.me()).user.id });
  await show.step("Both agents", "Rate", `Bo has ${reputation?.ratingAverage} stars now`);

  await bidder.payouts.create({ amountCents: 9_000 });
  await waitForPayout(bo, beginning);
  await show.step("Bo's agent", "Have it paid out", "$90.00 on their way to his bank account");
}

/** The first event of this type in the log behind `after`. */
async function firstOf(rebid: Rebid, type: "task.created", after: string) {
  for await (const event of rebid.events.follow({ types: [type], after, ...patience })) return event.data;
  throw new Error(`there was no ${type}`);
}
