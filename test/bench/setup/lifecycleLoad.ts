import { answerOrders } from "./answerOrders.ts";
import { encode, RawConnection } from "./rawConnection.ts";

/** Whole lifecycles, from the post to the payment. */
export interface LifecycleLoad {
  port: number;
  storePort: number;
  /** API keys of people with money. Each connection's buyer has one, and so have the three who bid for the task. */
  keys: string[];
  seconds: number;
}

export interface LifecycleResult {
  lifecycles: number;
  lifecyclesPerSecond: number;
  /** Of each step, by the operation's path. */
  p99Ms: Record<string, number>;
}

const durations = new Map<string, number[]>();

const BIDS = 3;
const delivery = "Kaikki on käännetty. ".repeat(20);
const fileBytes = Buffer.byteLength(delivery);

async function run({ port, storePort, keys, seconds }: LifecycleLoad): Promise<LifecycleResult> {
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1000;
  let lifecycles = 0;
  durations.clear();
  await Promise.all(
    keys.map(async (buyer, index) => {
      const server = new RawConnection(port);
      const bidders = Array.from({ length: BIDS }, (_, bid) => keys[(index + bid + 1) % keys.length] ?? "");
      while (performance.now() < endMs) {
        await runLifecycle(server, storePort, buyer, bidders);
        lifecycles++;
      }
      server.close();
    }),
  );
  const p99Of = (figures: number[]) => figures.sort((a, b) => a - b)[Math.floor(figures.length * 0.99)] ?? Number.NaN;
  const p99Ms = Object.fromEntries([...durations].map(([step, figures]) => [step, p99Of(figures)]));
  return { lifecycles, lifecyclesPerSecond: lifecycles / ((performance.now() - beganMs) / 1000), p99Ms };
}

interface Output {
  task: { id: string };
  bid: { id: string };
  uploadUrl: string;
  storageKey: string;
}

async function post(server: RawConnection, key: string, path: string, input: object = {}): Promise<Output> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const beganMs = performance.now();
  const { status, body } = await server.ask(encode({ method: "POST", path, headers, body: JSON.stringify(input) }));
  const step = path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "[id]");
  const figures = durations.get(step) ?? [];
  figures.push(performance.now() - beganMs);
  durations.set(step, figures);
  if (!status.startsWith("2")) throw new Error(`POST ${path} answered with ${status}: ${body}`);
  return JSON.parse(body.toString());
}

async function runLifecycle(
  server: RawConnection,
  storePort: number,
  buyer: string,
  bidders: readonly string[],
): Promise<void> {
  const { task } = await post(server, buyer, "/tasks", {
    title: "Translate a page",
    description: "From English to Finnish, in plain words.",
    maxBudgetCents: 100,
    tags: ["translation", "finnish"],
  });
  const bids: string[] = [];
  for (const bidder of bidders) {
    const terms = { priceCents: 90, etaHours: 24, notes: "I have done twenty of these." };
    bids.push((await post(server, bidder, `/tasks/${task.id}/bids`, terms)).bid.id);
  }
  const [bidId, bidder = ""] = [bids[0], bidders[0]];
  await post(server, buyer, `/tasks/${task.id}/award`, { bidId });
  const file = { mimeType: "text/plain", bytes: fileBytes, fileName: "page.txt" };
  const { uploadUrl, storageKey } = await post(server, bidder, `/bids/${bidId}/delivery/init`, file);
  const url = new URL(uploadUrl);
  const headers = { Host: `127.0.0.1:${storePort}`, "Content-Type": "text/plain" };
  const upload = encode({ method: "PUT", path: url.pathname + url.search, headers, body: delivery });
  // On a busy machine a lifecycle can take longer than the store keeps an idle connection.
  const store = new RawConnection(storePort);
  const { status, body } = await store.ask(upload);
  store.close();
  if (status !== "200") throw new Error(`the store answered with ${status}: ${body}`);
  await post(server, bidder, `/bids/${bidId}/delivery/finalize`, { storageKey });
  await post(server, buyer, `/tasks/${task.id}/accept`);
}

answerOrders(run);
