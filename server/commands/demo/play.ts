import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { CommandFailure } from "../runCommand.ts";
import { dim } from "../terminal.ts";
import { showLedger, showLog, showStep } from "./show.ts";
import { Visitor } from "./visitor.ts";

const TOPUP_TIMEOUT_MS = 15_000;
const POLL_INTERVAL_MS = 100;

const sample = "# Lounas\n\n- Lohikeitto\n";
const delivery = "# Lounas\n\n- Lohikeitto: kermainen lohikeitto, ruisleipää\n- Karjalanpiirakka: munavoilla\n";

/** Takes one task from sign-up to payment as a buyer and two bidders would, and shows the wallets after each step. */
export async function play(url: string): Promise<void> {
  const ada = new Visitor(url, "Ada", "buyer");
  const bo = new Visitor(url, "Bo", "bidder");
  const cleo = new Visitor(url, "Cleo", "bidder");
  const both = [ada, bo];

  await Promise.all([ada, bo, cleo].map((visitor) => visitor.signUp()));
  await showStep("Sign up", "Ada will buy, Bo and Cleo will bid", both);

  await topUp(ada, 20_000);
  await showStep("Top up through the checkout page", "Ada pays $200.00 by card", both);

  const { task } = await ada.call<{ task: { id: string } }>("POST", "/tasks", {
    title: `Translate a lunch menu into Finnish, no. ${Date.now()}`,
    description: "Two dishes. Keep the names, explain what they are.",
    acceptanceCriteria: "Markdown, one line per dish.",
    maxBudgetCents: 12_000,
    tags: ["translation", "finnish"],
  });
  await showStep("Post a task", "the whole maximum budget of $120.00 is held", both);

  const bid = (visitor: Visitor, priceCents: number, etaHours: number, notes: string) =>
    visitor.call<{ bid: { id: string } }>("POST", `/tasks/${task.id}/bids`, { priceCents, etaHours, notes });
  const { bid: bosBid } = await bid(bo, 9_000, 24, "Native speaker.");
  await bid(cleo, 11_000, 12, "Tonight, if you like.");
  await showStep("Place two bids", "Bo asks $90.00 in 24 hours, Cleo $110.00 in 12", both);

  await ada.call("POST", `/tasks/${task.id}/award`, { bidId: bosBid.id });
  await showStep("Award the task to Bo", "the hold shrinks to the price, the rest returns", both);

  const sampleKey = await upload(bo, bosBid.id, "sample", sample);
  await bo.call("POST", `/bids/${bosBid.id}/sample/finalize`, { storageKey: sampleKey });
  await showStep("Upload a sample", `${Buffer.byteLength(sample)} bytes of Markdown through a presigned URL`, both);

  const deliveryKey = await upload(bo, bosBid.id, "delivery", delivery);
  const delivered = await bo.call<{ task: { acceptanceDeadlineAt: string } }>(
    "POST",
    `/bids/${bosBid.id}/delivery/finalize`,
    { storageKey: deliveryKey },
  );
  const deadline = delivered.task.acceptanceDeadlineAt.slice(0, 16).replace("T", " ");
  await showStep("Deliver", `accepted automatically at ${deadline} UTC unless Ada acts before`, both);

  const detail = await ada.call<{ deliveries: { downloadUrl: string }[] }>("GET", `/tasks/${task.id}`);
  const file = await fetch(detail.deliveries[0]?.downloadUrl ?? "");
  if ((await file.text()) !== delivery)
    throw new CommandFailure("The file that Ada downloaded is not the one that Bo delivered.");
  await ada.call("POST", `/tasks/${task.id}/accept`);
  await showStep("Accept", "Ada has downloaded and read the file; Bo is paid", both);

  for (const visitor of both) await showLedger(visitor);
  for (const visitor of [ada, bo, cleo]) await showLog(visitor, task.id);
  console.log(`\n${styleText("green", "Done.")} ${dim(`Task ${task.id}`)}\n`);
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
  const deadline = Date.now() + TOPUP_TIMEOUT_MS;
  while ((await buyer.wallet()).availableCents < amountCents) {
    if (Date.now() > deadline) {
      throw new CommandFailure("The payment was made, but the wallet was not credited within 15 seconds.");
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Uploads the content through a presigned URL; returns the storage key with which to finalize it. */
async function upload(bidder: Visitor, bidId: string, kind: "sample" | "delivery", content: string): Promise<string> {
  const bytes = Buffer.from(content);
  const { uploadUrl, storageKey } = await bidder.call<{ uploadUrl: string; storageKey: string }>(
    "POST",
    `/bids/${bidId}/${kind}/init`,
    { mimeType: "text/markdown", bytes: bytes.length },
  );
  const put = await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/markdown" }, body: bytes });
  if (!put.ok) throw new CommandFailure(`The object store refused the ${kind} (${put.status}): ${await put.text()}`);
  return storageKey;
}
