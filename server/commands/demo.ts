/**
 * `npm run demo`: plays the main job against the running service, as a buyer and two bidders would, and shows after each
 * step what it did to the wallets. Starts a service for itself when none answers.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { configuredBackingServices } from "../backingServices.ts";
import { type Config, readConfig } from "../config.ts";
import { loadEmbedded } from "../services.ts";
import { expectNoArguments } from "./noArguments.ts";

/** Ends the demo with a reason that a person can act on. */
class DemoFailure extends Error {
  override readonly name = "DemoFailure";
}

const dim = (text: string) => styleText("dim", text);
const bold = (text: string) => styleText("bold", text);
const dollars = (cents: number) => `$${(cents / 100).toFixed(2)}`;

interface Wallet {
  availableCents: number;
  heldCents: number;
}

interface Entry {
  kind: string;
  bucket: string;
  amountCents: number;
  createdAt: string;
}

interface BidRecord {
  id: string;
  priceCents: number;
  etaHours: number;
}

/** One person at a browser: keeps the session's cookie, and what the wallet held when it was last shown. */
class Visitor {
  readonly name: string;
  readonly role: string;
  readonly #url: string;
  #cookie = "";
  lastShown: Wallet = { availableCents: 0, heldCents: 0 };

  constructor(url: string, name: string, role: string) {
    this.#url = url;
    this.name = name;
    this.role = role;
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { cookie: this.#cookie, ...(body !== undefined && { "content-type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const [cookie] = (response.headers.get("set-cookie") ?? "").split(";");
    if (cookie) this.#cookie = cookie;
    const text = await response.text();
    if (!response.ok) throw new DemoFailure(`${this.name}: ${method} ${path} answered ${response.status}\n${text}`);
    return JSON.parse(text) as Body; // the service's own documented answer
  }

  signUp(): Promise<unknown> {
    const email = `${this.name.toLowerCase()}.${Date.now()}@example.com`;
    return this.call("POST", "/auth/signup", { email, password: "a demo password", displayName: this.name });
  }

  wallet(): Promise<Wallet> {
    return this.call<Wallet>("GET", "/wallet");
  }
}

function change(label: string, cents: number): string {
  if (cents === 0) return "";
  const text = `${cents > 0 ? "+" : "−"}${dollars(Math.abs(cents))} ${label}`;
  return `  ${styleText(cents > 0 ? "green" : "yellow", text)}`;
}

let stepNumber = 0;

/** Prints what was done, and each wallet with what it gained and lost by it. */
async function show(title: string, detail: string, visitors: Visitor[]): Promise<void> {
  console.log(`\n${bold(`${String(++stepNumber).padStart(2)}  ${title}`)}${detail && `  ${dim(detail)}`}`);
  for (const visitor of visitors) {
    const wallet = await visitor.wallet();
    const { availableCents, heldCents } = visitor.lastShown;
    const balance = `${dollars(wallet.availableCents).padStart(9)} available ${dollars(wallet.heldCents).padStart(8)} held`;
    const changes =
      change("available", wallet.availableCents - availableCents) + change("held", wallet.heldCents - heldCents);
    console.log(
      `    ${visitor.name.padEnd(4)}${dim(visitor.role.padEnd(8))}${changes ? balance : dim(balance)}${changes}`,
    );
    visitor.lastShown = wallet;
  }
}

/** Clicks "pay" on the hosted checkout page, then waits until the processor's event has credited the wallet. */
async function topUp(buyer: Visitor, amountCents: number): Promise<void> {
  const { checkoutUrl } = await buyer.call<{ checkoutUrl: string }>("POST", "/wallet/topup", { amountCents });
  const page = await fetch(checkoutUrl);
  if (!page.ok) throw new DemoFailure(`The checkout page answered ${page.status}: ${checkoutUrl}`);
  const paid = await fetch(`${checkoutUrl}/pay`, {
    method: "POST",
    body: new URLSearchParams({ outcome: "pays" }),
    redirect: "manual",
  });
  if (paid.status !== 303) {
    throw new DemoFailure(
      `The checkout page did not take the payment (${paid.status}). The demo can only click the embedded processor's page.`,
    );
  }
  const deadline = Date.now() + 15_000;
  while ((await buyer.wallet()).availableCents < amountCents) {
    if (Date.now() > deadline) throw new DemoFailure("The payment was made, but the wallet was not credited in 15 s.");
    await new Promise((resume) => setTimeout(resume, 100));
  }
}

async function upload(bidder: Visitor, bidId: string, kind: "sample" | "delivery", content: string): Promise<string> {
  const bytes = Buffer.from(content);
  const { uploadUrl, storageKey } = await bidder.call<{ uploadUrl: string; storageKey: string }>(
    "POST",
    `/bids/${bidId}/${kind}/init`,
    { mimeType: "text/markdown", bytes: bytes.length },
  );
  const put = await fetch(uploadUrl, { method: "PUT", headers: { "content-type": "text/markdown" }, body: bytes });
  if (!put.ok) throw new DemoFailure(`The object store refused the ${kind} (${put.status}): ${await put.text()}`);
  return storageKey;
}

const sample = "# Lounas\n\n- Lohikeitto\n";
const delivery = "# Lounas\n\n- Lohikeitto: kermainen lohikeitto, ruisleipää\n- Karjalanpiirakka: munavoilla\n";

async function play(url: string): Promise<void> {
  const ada = new Visitor(url, "Ada", "buyer");
  const bo = new Visitor(url, "Bo", "bidder");
  const cleo = new Visitor(url, "Cleo", "bidder");
  const both = [ada, bo];

  await Promise.all([ada, bo, cleo].map((visitor) => visitor.signUp()));
  await show("Sign up", "Ada will buy, Bo and Cleo will bid", both);

  await topUp(ada, 20_000);
  await show("Top up through the checkout page", "Ada pays $200.00 by card", both);

  const { task } = await ada.call<{ task: { id: string; title: string } }>("POST", "/tasks", {
    title: `Translate a lunch menu into Finnish, no. ${Date.now()}`,
    description: "Two dishes. Keep the names, explain what they are.",
    acceptanceCriteria: "Markdown, one line a dish.",
    maxBudgetCents: 12_000,
    tags: ["translation", "finnish"],
  });
  await show("Post a task", "the whole maximum budget of $120.00 is held", both);

  const bid = (visitor: Visitor, priceCents: number, etaHours: number, notes: string) =>
    visitor.call<{ bid: BidRecord }>("POST", `/tasks/${task.id}/bids`, { priceCents, etaHours, notes });
  const { bid: bosBid } = await bid(bo, 9_000, 24, "Native speaker.");
  await bid(cleo, 11_000, 12, "Tonight, if you like.");
  await show("Two bids", "Bo asks $90.00 in 24 hours, Cleo $110.00 in 12", both);

  await ada.call("POST", `/tasks/${task.id}/award`, { bidId: bosBid.id });
  await show("Award the task to Bo", "the hold falls to the price, the rest returns", both);

  const sampleKey = await upload(bo, bosBid.id, "sample", sample);
  await bo.call("POST", `/bids/${bosBid.id}/sample/finalize`, { storageKey: sampleKey });
  await show("Upload a sample", `${Buffer.byteLength(sample)} bytes of Markdown through a presigned URL`, both);

  const deliveryKey = await upload(bo, bosBid.id, "delivery", delivery);
  const delivered = await bo.call<{ task: { acceptanceDeadlineAt: string } }>(
    "POST",
    `/bids/${bosBid.id}/delivery/finalize`,
    { storageKey: deliveryKey },
  );
  await show("Deliver", `accepted by itself at ${delivered.task.acceptanceDeadlineAt.slice(0, 19)}Z`, both);

  const detail = await ada.call<{ deliveries: { downloadUrl: string }[] }>("GET", `/tasks/${task.id}`);
  const file = await fetch(detail.deliveries[0]?.downloadUrl ?? "");
  if ((await file.text()) !== delivery) throw new DemoFailure("What Ada downloads is not what Bo delivered.");
  await ada.call("POST", `/tasks/${task.id}/accept`);
  await show("Accept", "Ada has read the file; Bo is paid", both);

  for (const visitor of both) await showLedger(visitor);
  console.log(`\n${styleText("green", "Done.")} ${dim(`Task ${task.id}`)}\n`);
}

async function showLedger(visitor: Visitor): Promise<void> {
  const { entries } = await visitor.call<{ entries: Entry[] }>("GET", "/wallet/ledger");
  console.log(`\n    ${bold(`${visitor.name}'s ledger`)}`);
  for (const { createdAt, kind, bucket, amountCents } of entries.toReversed()) {
    const sign = amountCents > 0 ? "+" : "−";
    const amount = `${sign}${dollars(Math.abs(amountCents))}`.padStart(10);
    console.log(`    ${dim(createdAt.slice(11, 23))}  ${kind.padEnd(14)}${bucket.padEnd(10)}${amount}`);
  }
}

/** The address of the service that the settings describe, if it answers. */
async function findService(config: Config): Promise<string | null> {
  const configured = configuredBackingServices(config) !== null;
  const embedded = configured ? null : (await loadEmbedded()).findServiceUrl(config.dataDirectory);
  const candidates = [embedded, `http://localhost:${config.port}`];
  for (const url of candidates) {
    if (url === null) continue;
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok) return url;
  }
  return null;
}

/** Starts the service as a process of its own; `stop` ends it as an operator would. */
async function startService(): Promise<{ url: string; stop(): Promise<void> }> {
  const service = spawn(process.execPath, ["server/start/main.ts"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(service, "exit");
  for await (const line of createInterface({ input: service.stdout })) {
    const url = /^Rebid is ready: (.+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    service.stdout.resume();
    return {
      url,
      async stop() {
        service.kill("SIGTERM");
        await ended;
      },
    };
  }
  throw new DemoFailure("The service did not start; see above.");
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  console.log(`\n${bold("Rebid")}  a task, from the first cent to the last`);
  const found = await findService(config);
  if (found !== null) {
    console.log(dim(`Playing against the service at ${found}`));
    return play(found);
  }
  console.log(dim("No service answers, so one is started for the demo."));
  const service = await startService();
  try {
    await play(service.url);
  } finally {
    await service.stop();
  }
}

expectNoArguments("demo");
main().catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  console.error(`\n${styleText("red", "The demo stopped.", { stream: process.stderr })} ${reason}`);
  process.exitCode = 1;
});
