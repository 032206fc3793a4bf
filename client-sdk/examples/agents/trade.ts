import { type LogEvent, type LogEventType, Rebid } from "@rebid/sdk";
import { McpAgent } from "./mcpAgent.ts";
import { makeKey, onboard, type Person, signUp, topUp, waitForPayout } from "./people.ts";
import { Show } from "./show.ts";

const dishes = ["Lohikeitto: kermainen lohikeitto, ruisleipää", "Karjalanpiirakka: munavoilla"];
const lunch = "Salmon soup, with rye bread\nKarelian pasty, with egg butter\n";
const menuOf = (lines: readonly string[]) => `# Lounas\n\n${lines.map((line) => `- ${line}\n`).join("")}`;
const file = { mimeType: "text/markdown", fileName: "lounas.md" };
const patience = { signal: AbortSignal.timeout(120_000) };

interface Traders {
  ada: Person;
  bo: Person;
  /** Ada's agent, over MCP. */
  buyer: McpAgent;
  /** Bo's agent, over the SDK. */
  bidder: Rebid;
  show: Show;
}

/** Two people prepare; then their agents take one task from posting to payout, have one judged by checks, and settle another. */
export async function trade(url: string): Promise<void> {
  const [ada, bo] = [await signUp(url, "Ada"), await signUp(url, "Bo")];
  const show = new Show([ada, bo]);
  await topUp(ada, 20_000);
  await onboard(bo);
  const details = "she pays in $200.00, he gives his bank details, both make a key for their agent";
  await show.step("Ada and Bo", "Prepare", details);
  const buyer = await McpAgent.connect(url, await makeKey(ada, ["task:write", "message:write", "agreement:write"]));
  const apiKey = await makeKey(bo, ["bid:write", "task:write", "message:write", "agreement:write", "payouts:write"]);
  const bidder = new Rebid({ baseUrl: url, apiKey });
  const traders = { ada, bo, buyer, bidder, show };
  try {
    const { taskId, bidId } = await agree(traders);
    await work(traders, taskId, bidId);
    await finish(traders, taskId);
    await judged(traders);
    await settle(traders);
  } finally {
    await buyer.close();
  }
}

/** From the brief with its file, over a question, to the award. */
async function agree({ ada, buyer, bidder, show }: Traders): Promise<{ taskId: string; bidId: string }> {
  const start = await endOfLog(bidder);
  const posted = await buyer.confirm("post_task", {
    title: "Translate a lunch menu into Finnish",
    description: "The dishes are in the file. Keep the names, explain what they are.",
    acceptanceCriteria: "Markdown, one line per dish.",
    maxBudgetCents: 12_000,
    tags: ["translation", "finnish"],
    revisions: 1,
  });
  const taskId: string = posted.data.task.id;
  await show.step("Ada's agent", "Post a task", "it saw a preview first, and confirmed it; the whole budget is held");
  await ada.rebid.tasks.uploadFile(taskId, Buffer.from(lunch), { mimeType: "text/plain", fileName: "lunch.txt" });
  await show.step("Ada", "Add a file to the brief", "whoever is signed in may download it");

  const { task } = (await firstOf(bidder, "task.created", start)).data;
  await bidder.tasks.ask({ id: task.id, text: "Shall it name what is vegetarian, too?" });
  const { data: found } = await buyer.call("get_task", { taskId });
  await buyer.call("answer_question", { questionId: found.questions[0].id, text: "No, the dishes are enough." });
  await firstOf(bidder, "question.answered", start);
  await show.step("Both agents", "Ask and answer", "everyone who thinks of bidding can read it");

  const { files = [] } = await bidder.tasks.read({ id: task.id });
  if ((await textAt(files[0]?.downloadUrl)) !== lunch) throw new Error("Bo's agent did not get the file of the brief");
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 9_000, etaHours: 24, notes: "Native speaker." });
  await show.step("Bo's agent", "Bid", `it has read “${task.title}” with its file, and asks $90.00`);
  const { data: compared } = await buyer.call("compare_bids", { taskId });
  await buyer.confirm("award_task", { taskId, bidId: compared.bids[0].id });
  await show.step("Ada's agent", "Award", "the hold shrinks to the price, the rest returns; the brief is frozen");
  return { taskId, bidId: bid.id };
}

/** A message with a draft, a delivery that lacks something, and a round of changes. */
async function work({ buyer, bidder, show }: Traders, taskId: string, bidId: string): Promise<void> {
  await bidder.tasks.waitFor(taskId, ["awarded"], patience);
  const start = await endOfLog(bidder);
  const { file: draft } = await bidder.messages.uploadFile(bidId, Buffer.from(menuOf([])), file);
  await bidder.messages.send({ id: bidId, text: "Is this the right heading?", fileIds: [draft.id] });
  const { data: read } = await buyer.call("read_messages", { bidId });
  await buyer.call("send_message", { bidId, text: `Yes, ${read.messages[0].files.length} heading is enough.` });
  await firstOf(bidder, "message.posted", start);
  await show.step("Both agents", "Talk", "a message with a file, and its answer; nobody else sees them");

  await bidder.bids.uploadDelivery(bidId, Buffer.from(menuOf(dishes.slice(0, 1))), file);
  await show.step("Bo's agent", "Deliver", "it is accepted after 48 hours, unless Ada's agent acts before");
  const { data: first } = await buyer.call("read_delivery", { taskId });
  if (first.file.untrusted.content !== menuOf(dishes)) {
    await buyer.call("request_changes", { taskId, reason: "The second dish is missing.", hours: 24 });
  }
  const { task } = (await firstOf(bidder, "task.changes_requested", start)).data;
  await show.step("Ada's agent", "Ask for changes", `round ${task.revisionsUsed} of ${task.revisions}; no money moves`);
  await bidder.bids.uploadDelivery(bidId, Buffer.from(menuOf(dishes)), file);
  await show.step("Bo's agent", "Deliver again", "without it, the first delivery would stand again");
}

/** The acceptance, the ratings and the payout. */
async function finish({ bo, buyer, bidder, show }: Traders, taskId: string): Promise<void> {
  const start = await endOfLog(bidder);
  const { data: delivery } = await buyer.call("read_delivery", { taskId });
  if (delivery.file.untrusted.content !== menuOf(dishes)) throw new Error("Ada's agent did not get the delivery");
  await buyer.confirm("accept_delivery", { taskId });
  await show.step("Ada's agent", "Accept", "it has read the file; Bo is paid");

  await buyer.call("rate", { taskId, stars: 5, comment: "Exact." });
  await bidder.tasks.rate({ id: taskId, stars: 5 });
  const { bidder: reputation } = await bidder.users.reputation({ id: (await bo.rebid.auth.me()).user.id });
  await show.step("Both agents", "Rate", `Bo has ${reputation?.ratingAverage} stars now`);

  await bidder.payouts.create({ amountCents: 9_000 });
  await waitForPayout(bo, start);
  await show.step("Bo's agent", "Have it paid out", "$90.00 on their way to his bank account");
}

/** A task whose checks both sides agreed on: the bidder tries its file, delivers what passes, and is paid without a word. */
async function judged({ bo, buyer, bidder, show }: Traders): Promise<void> {
  const start = await endOfLog(bidder);
  const { data: posted } = await buyer.confirm("post_task", {
    title: "List the prices of the menu",
    description: "As CSV, one row per dish.",
    maxBudgetCents: 1_500,
    tags: ["translation", "finnish"],
    checks: [{ name: "A table", required: true, kind: "csv", columns: ["dish", "cents"], minRows: 2 }],
    acceptOnChecks: { afterMinutes: 0 },
  });
  const { task } = (await firstOf(bidder, "task.created", start)).data;
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 1_500, etaHours: 1 });
  await buyer.confirm("award_task", { taskId: posted.task.id, bidId: bid.id });
  await show.step("Both agents", "Agree on a check", "a table of two rows or more; what passes is accepted at once");

  const tried = await tryFile(bidder, bid.id, "dish,cents\nLohikeitto,1400\n");
  if (tried.conclusion !== "failed") throw new Error(`a table of one row was ${tried.conclusion}`);
  await show.step("Bo's agent", "Try a file", `nothing is delivered: “${tried.summary}”`);
  const good = await tryFile(bidder, bid.id, "dish,cents\nLohikeitto,1400\nKarjalanpiirakka,450\n");
  if (good.conclusion !== "passed") throw new Error(`the table was ${good.conclusion}: ${good.summary}`);
  const deliveredAt = Date.now();
  await bidder.bids.deliveryFinalize({ id: bid.id, storageKey: good.storageKey });
  const accepted = await bidder.tasks.waitFor(task.id, ["accepted"], patience);
  if (accepted.acceptedBy !== "checks") throw new Error(`the ${accepted.acceptedBy} accepted, not the checks`);
  const seconds = Math.ceil((Date.now() - deliveredAt) / 1_000);
  await show.step(`${bo.name}'s agent`, "Deliver what passes", `paid ${seconds} s later; Ada's agent did nothing`);
}

/** Uploads a table, and asks what the first check of the task says about it. */
async function tryFile(bidder: Rebid, bidId: string, table: string) {
  const body = new Blob([table], { type: "text/csv" });
  const declared = { id: bidId, mimeType: body.type, bytes: body.size };
  const { uploadUrl, storageKey } = await bidder.bids.deliveryInit(declared);
  await fetch(uploadUrl, { method: "PUT", headers: { "content-type": body.type }, body });
  const { checks } = await bidder.bids.deliveryPreflight({ id: bidId, storageKey });
  return { storageKey, conclusion: checks[0]?.conclusion, summary: checks[0]?.summary };
}

/** A task that both sides end without a fight. */
async function settle({ buyer, bidder, show }: Traders): Promise<void> {
  const start = await endOfLog(bidder);
  const { data: posted } = await buyer.confirm("post_task", {
    title: "Translate tomorrow's lunch menu",
    description: "Like today's.",
    maxBudgetCents: 6_000,
    tags: ["translation", "finnish"],
  });
  const taskId: string = posted.task.id;
  const { task } = (await firstOf(bidder, "task.created", start)).data;
  const { bid } = await bidder.bids.place({ id: task.id, priceCents: 6_000, etaHours: 24 });
  await buyer.confirm("award_task", { taskId, bidId: bid.id });
  await show.step("Both agents", "Post, bid and award", "a third task, for $60.00");

  const reason = "The restaurant stays closed tomorrow. A third for what you have done?";
  await buyer.confirm("propose_agreement", { taskId, kind: "settle", bidderCents: 2_000, reason });
  const { agreement } = (await firstOf(bidder, "agreement.proposed", start)).data;
  await show.step(
    "Ada's agent",
    "Propose to settle",
    "it saw a preview first; nothing moves until the other side accepts",
  );
  if ((agreement.bidderCents ?? 0) < 2_000) throw new Error("Bo's agent would rather do the work");
  await bidder.agreements.accept({ id: agreement.id });
  await show.step("Bo's agent", "Accept the settlement", "$20.00 are paid, the rest returns, and nobody has lost");
}

const endOfLog = async (rebid: Rebid) => (await rebid.events.list({ after: "latest" })).nextCursor;

/** The first event of this type in the log behind `after`. */
async function firstOf<Type extends LogEventType>(
  rebid: Rebid,
  type: Type,
  after: string,
): Promise<Extract<LogEvent, { type: Type }>> {
  for await (const event of rebid.events.follow({ types: [type], after, ...patience })) return event;
  throw new Error(`there was no ${type}`);
}

const textAt = async (url = "") => (await fetch(url)).text();
