import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { CommandFailure } from "../runCommand.ts";
import { dim } from "../terminal.ts";
import { showLedger, showLog, showStep } from "./show.ts";
import { Visitor } from "./visitor.ts";

const TIMEOUT_MS = 15_000;
const POLL_INTERVAL_MS = 100;

const sample = "# Lounas\n\n- Lohikeitto\n";
const delivery = "# Lounas\n\n- Lohikeitto: kermainen lohikeitto, ruisleipää\n- Karjalanpiirakka: munavoilla\n";

const dishes = "Salmon soup, with rye bread\nKarelian pasty, with egg butter\n";

interface Cast {
  ada: Visitor;
  bo: Visitor;
  cleo: Visitor;
  /** Those whose wallets are shown. */
  both: Visitor[];
}

/**
 * Takes one task from sign-up to payment as a buyer and two bidders would, has one judged by checks, settles another, and shows the
 * wallets after each step.
 */
export async function play(url: string): Promise<void> {
  const ada = new Visitor(url, "Ada", "buyer");
  const bo = new Visitor(url, "Bo", "bidder");
  const cleo = new Visitor(url, "Cleo", "bidder");
  const cast = { ada, bo, cleo, both: [ada, bo] };

  await Promise.all([ada, bo, cleo].map((visitor) => visitor.signUp()));
  await showStep("Sign up", "Ada will buy, Bo and Cleo will bid", cast.both);
  await topUp(ada, 20_000);
  await showStep("Top up through the checkout page", "Ada pays $200.00 by card", cast.both);

  const { taskId, bidId } = await agree(cast);
  await work(cast, taskId, bidId);
  await judge(cast);
  await settle(cast);
  for (const visitor of cast.both) await showLedger(visitor);
  for (const visitor of [ada, bo, cleo]) await showLog(visitor, taskId);
  console.log(`\n${styleText("green", "Done.")} ${dim(`Task ${taskId}`)}\n`);
}

const post = (buyer: Visitor, task: object) =>
  buyer.call<{ task: { id: string } }>("POST", "/tasks", { tags: ["translation", "finnish"], ...task });
const bid = (bidder: Visitor, taskId: string, offer: { priceCents: number; etaHours: number; notes: string }) =>
  bidder.call<{ bid: { id: string } }>("POST", `/tasks/${taskId}/bids`, offer);

/** From the brief, over a question, to the award. */
async function agree({ ada, bo, cleo, both }: Cast): Promise<{ taskId: string; bidId: string }> {
  const { task } = await post(ada, {
    title: `Translate a lunch menu into Finnish, no. ${Date.now()}`,
    description: "The dishes are in the file. Keep the names, explain what they are.",
    acceptanceCriteria: "Markdown, one line per dish.",
    maxBudgetCents: 12_000,
    revisions: 1,
  });
  await showStep("Post a task", "the whole maximum budget of $120.00 is held", both);
  await send(ada, `/tasks/${task.id}/files`, dishes);
  await showStep("Add a file to the brief", "the dishes; whoever is signed in may download them", both);

  const words = { text: "Shall it name what is vegetarian, too?" };
  const { question } = await bo.call<{ question: { id: string } }>("POST", `/tasks/${task.id}/questions`, words);
  await ada.call("POST", `/questions/${question.id}/answer`, { text: "No, the dishes are enough." });
  await showStep("Ask and answer", "Bo's question and Ada's answer are public", both);

  const { bid: bosBid } = await bid(bo, task.id, { priceCents: 9_000, etaHours: 24, notes: "Native speaker." });
  await bid(cleo, task.id, { priceCents: 11_000, etaHours: 12, notes: "Tonight, if you like." });
  await showStep("Place two bids", "Bo asks $90.00 in 24 hours, Cleo $110.00 in 12", both);
  await ada.call("POST", `/tasks/${task.id}/award`, { bidId: bosBid.id });
  await showStep("Award the task to Bo", "the hold shrinks to the price, the rest returns", both);
  return { taskId: task.id, bidId: bosBid.id };
}

/** From the award to the payment, with a message and a round of changes. */
async function work({ ada, bo, both }: Cast, taskId: string, bidId: string): Promise<void> {
  const { file } = await send<{ file: { id: string } }>(bo, `/bids/${bidId}/files`, sample);
  await bo.call("POST", `/bids/${bidId}/messages`, { text: "Is this the right heading?", fileIds: [file.id] });
  await ada.call("POST", `/bids/${bidId}/messages`, { text: "It is." });
  await showStep("Talk", "a message with a draft, and its answer, which nobody else sees", both);

  await send(bo, `/bids/${bidId}/sample`, sample);
  await showStep("Upload a sample", `${Buffer.byteLength(sample)} bytes of Markdown through a presigned URL`, both);
  const { task } = await send<{ task: { acceptanceDeadlineAt: string } }>(bo, `/bids/${bidId}/delivery`, sample);
  const deadline = task.acceptanceDeadlineAt.slice(0, 16).replace("T", " ");
  await showStep("Deliver", `accepted automatically at ${deadline} UTC unless Ada acts before`, both);

  const reason = "The second dish is missing, and what the first one is.";
  await ada.call("POST", `/tasks/${taskId}/request-changes`, { reason });
  await showStep("Ask for changes", "round 1 of 1; without an answer, the delivery would stand again", both);
  await send(bo, `/bids/${bidId}/delivery`, delivery);
  await showStep("Deliver again", "the newest version counts, the earlier one is kept", both);

  const detail = await ada.call<{ deliveries: { downloadUrl: string }[] }>("GET", `/tasks/${taskId}`);
  const downloaded = await fetch(detail.deliveries[0]?.downloadUrl ?? "");
  if ((await downloaded.text()) !== delivery)
    throw new CommandFailure("The file that Ada downloaded is not the one that Bo delivered.");
  await ada.call("POST", `/tasks/${taskId}/accept`);
  await showStep("Accept", "Ada has downloaded and read the file; Bo is paid", both);
}

/** A task whose delivery is judged by a check: Bo tries his file first, and is paid as soon as what he delivers passes. */
async function judge({ ada, bo, both }: Cast): Promise<void> {
  const { task } = await post(ada, {
    title: "List the prices of the menu",
    description: "As CSV, one row per dish.",
    maxBudgetCents: 1_500,
    checks: [{ name: "A table", required: true, kind: "csv", columns: ["dish", "cents"], minRows: 2 }],
    acceptOnChecks: { afterMinutes: 0 },
  });
  const { bid: bosBid } = await bid(bo, task.id, { priceCents: 1_500, etaHours: 1, notes: "At once." });
  await ada.call("POST", `/tasks/${task.id}/award`, { bidId: bosBid.id });
  await showStep("Award a task with a check", "a table of two rows or more is accepted as soon as it passes", both);

  const path = `/bids/${bosBid.id}/delivery`;
  const table = "dish,cents\nLohikeitto,1400\n";
  const tried = { storageKey: await uploadTo(bo, path, table, "text/csv") };
  const { checks } = await bo.call<{ checks: { conclusion: string }[] }>("POST", `${path}/preflight`, tried);
  await showStep("Try a file", `the check has ${checks[0]?.conclusion}, for want of a row; nothing is delivered`, both);
  const storageKey = await uploadTo(bo, path, `${table}Karjalanpiirakka,450\n`, "text/csv");
  await bo.call("POST", `${path}/finalize`, { storageKey });
  const isPaid = async () =>
    (await bo.call<{ task: { status: string } }>("GET", `/tasks/${task.id}`)).task.status === "accepted";
  await waitUntil(isPaid, "The delivery was not accepted by its check within 15 seconds.");
  await showStep("Deliver what passes", "the check accepts it, and Bo is paid; Ada did nothing", both);
}

/** A task that both sides end without a fight. */
async function settle({ ada, bo, both }: Cast): Promise<void> {
  const { task } = await post(ada, {
    title: "Translate tomorrow's lunch menu",
    description: "Like today's.",
    maxBudgetCents: 6_000,
  });
  const { bid: bosBid } = await bid(bo, task.id, { priceCents: 6_000, etaHours: 24, notes: "As today." });
  await ada.call("POST", `/tasks/${task.id}/award`, { bidId: bosBid.id });
  await showStep("Award another task", "$60.00 are held for it", both);

  const proposal = { kind: "settle", bidderCents: 2_000, reason: "The restaurant stays closed tomorrow." };
  const { agreement } = await ada.call<{ agreement: { id: string } }>("POST", `/tasks/${task.id}/agreements`, proposal);
  await showStep("Propose to settle", "Ada offers $20.00 for what is done; nothing moves until Bo accepts", both);
  await bo.call("POST", `/agreements/${agreement.id}/accept`);
  await showStep("Accept the settlement", "Bo is paid $20.00, the rest returns, and nobody has lost a dispute", both);
}

/** Submits the payment on the checkout page, then waits until the processor's event has credited the wallet. */
async function topUp(buyer: Visitor, amountCents: number): Promise<void> {
  const { checkoutUrl } = await buyer.call<{ checkoutUrl: string }>("POST", "/wallet/topup", { amountCents });
  const page = await fetch(checkoutUrl);
  if (!page.ok) throw new CommandFailure(`The checkout page returned ${page.status}: ${checkoutUrl}`);
  const paid = await fetch(`${checkoutUrl}/pay`, {
    method: "POST",
    body: new URLSearchParams({ outcome: "pays" }),
    redirect: "manual",
  });
  if (paid.status !== 303) {
    throw new CommandFailure(
      `The checkout page did not accept the payment (${paid.status}). The demo can only use the page of the embedded payment processor.`,
    );
  }
  await waitUntil(
    async () => (await buyer.wallet()).availableCents >= amountCents,
    "The payment was made, but the wallet was not credited within 15 seconds.",
  );
}

/** Asks until the answer is yes. Fails with the message if it takes too long. */
async function waitUntil(holds: () => Promise<boolean>, failure: string): Promise<void> {
  for (const deadline = Date.now() + TIMEOUT_MS; !(await holds()); await sleep(POLL_INTERVAL_MS))
    if (Date.now() > deadline) throw new CommandFailure(failure);
}

/** Uploads Markdown through a presigned URL, below a path that has `/init` and `/finalize`. Returns the answer of the latter. */
async function send<Answer>(visitor: Visitor, path: string, content: string): Promise<Answer> {
  const storageKey = await uploadTo(visitor, path, content, "text/markdown");
  return visitor.call<Answer>("POST", `${path}/finalize`, { storageKey });
}

/** Uploads a file through a presigned URL. Returns the key that names it. */
async function uploadTo(visitor: Visitor, path: string, content: string, mimeType: string): Promise<string> {
  const declaration = { mimeType, bytes: Buffer.byteLength(content) };
  const target = await visitor.call<{ uploadUrl: string; storageKey: string }>("POST", `${path}/init`, declaration);
  const headers = { "content-type": mimeType };
  const put = await fetch(target.uploadUrl, { method: "PUT", headers, body: content });
  if (!put.ok) throw new CommandFailure(`The object store refused the file (${put.status}): ${await put.text()}`);
  return target.storageKey;
}
