/**
 * `npm run crash`: many clients at work while everything they depend on is killed or fails at random; after it has
 * recovered, not a cent and not one acknowledged request may be missing. Exits with 1 on any difference, and when some
 * kind of kill or fault never hit anything, or some kind of movement was never booked.
 *
 *   --seconds N   how long the faults last (default: 75)
 *   --clients N   how many clients (default: 16)
 *   --seed N      repeats the random choices of an earlier run, but not its timing
 *   --keep        keeps the data directory with its logs
 *
 * `npm run soak` is a longer and calmer one, with fewer clients and kills (20 minutes, or --seconds N). Every few seconds it looks
 * at memory, open files, connections, tables and latencies. It draws them as one picture, and fails if one of them grows.
 *
 *   --soak FILE   where the picture goes
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import getPort from "get-port";
import pg from "pg";
import { audit } from "../../server/audit/audit.ts";
import { stripeProcessor } from "../../server/gateways/stripeProcessor.ts";
import { callFaults, eventFaults } from "../../server/local/processor/model/choices.ts";
import { ledgerKinds } from "../../server/schemas/ledgerEntry.ts";
import { openDatabase } from "../../server/store/database.ts";
import { rest } from "../setup/client.ts";
import { EdgeReady, type EdgeSettings } from "./edge.ts";
import { type Kill, type KillerSettings, type Order, Report, targets } from "./killer.ts";
import { acknowledgementKinds, Load, type SentRequest } from "./load.ts";
import { randomFrom } from "./random.ts";
import { soakPlan, startSoak } from "./soak.ts";
import { findDifferences, findUnsettled, setFee } from "./verify.ts";

/** Shares of all calls to the processor, and of all its events. A timeout costs its caller 10 s, so there are fewer. */
const FAULT_SHARE = { timeout_before: 0.01, timeout_after: 0.01, other: 0.025 } as const;
/** Short enough that the clock accepts some deliveries while things are failing. */
const ACCEPTANCE_WINDOW_SECONDS = 3;
/** Long enough for an answer between two kills, and short enough that those without one lapse within the run. */
const AGREEMENT_SECONDS = 10;
/** The limit for restarting everything after the last kill, which takes seconds. */
const RECOVERY_TIMEOUT_MS = 60_000;
/**
 * A killed worker's jobs are taken up within 60 s; the rest is done in less. After a long run, payouts that waited for money are
 * looked up at long intervals.
 */
const SETTLE_TIMEOUT_MS = { crash: 90_000, soak: 600_000 };

/** Everything that the processor can do wrong. */
const faults = [...callFaults, ...eventFaults];

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "75" },
    clients: { type: "string", default: "16" },
    seed: { type: "string", default: String(randomInt(1_000_000)) },
    keep: { type: "boolean", default: false },
    soak: { type: "string" },
  },
});
const seconds = Number(options.seconds);
const seed = Number(options.seed);

const problems: string[] = [];
const kills: Kill[] = [];
const directory = await mkdtemp(join(tmpdir(), "rebid-crash-"));
const children: ChildProcess[] = [];
console.log(`crash test: ${seconds} s of faults, ${options.clients} clients, seed ${seed}, data in ${directory}`);

try {
  await main();
} catch (error) {
  problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
} finally {
  await Promise.all(children.map(endChild));
}
for (const problem of problems.slice(0, 50)) console.error(problem);
if (problems.length > 50) console.error(`… and ${problems.length - 50} more`);
if (problems.length === 0) {
  console.log("Nothing is lost and nothing is doubled.");
  if (!options.keep) await rm(directory, { recursive: true });
} else {
  console.error(`FAILED with ${problems.length} differences. Seed ${seed}; logs and data are in ${directory}.`);
}
process.exit(problems.length === 0 ? 0 : 1);

async function main(): Promise<void> {
  const port = await getPort();
  const keys = { secretKey: `sk_test_${secret()}`, webhookSecret: `whsec_${secret()}` };
  const store = { bucket: "rebid", region: "us-east-1", accessKeyId: "crash", secretAccessKey: secret() };
  const apiUrl = `http://127.0.0.1:${port}`;
  const { processorUrl, storeUrl } = await startEdge({
    ...{ directory, eventsUrl: `${apiUrl}/processor/events`, store },
    ...keys,
  });
  const killer = await startKiller({
    directory,
    seed,
    plan: options.soak === undefined ? null : soakPlan(seconds),
    environment: {
      PORT: String(port),
      HOST: "127.0.0.1",
      SESSION_SECRET: secret(),
      STRIPE_SECRET_KEY: keys.secretKey,
      STRIPE_WEBHOOK_SECRET: keys.webhookSecret,
      STRIPE_API_BASE: processorUrl,
      S3_ENDPOINT: storeUrl,
      S3_BUCKET: store.bucket,
      S3_REGION: store.region,
      S3_ACCESS_KEY_ID: store.accessKeyId,
      S3_SECRET_ACCESS_KEY: store.secretAccessKey,
      ACCEPTANCE_WINDOW_SECONDS: String(ACCEPTANCE_WINDOW_SECONDS),
      AGREEMENT_SECONDS: String(AGREEMENT_SECONDS),
      PROCESSOR_POLL_SECONDS: "2",
      RATE_LIMITS: "off",
      SPAM_GUARD: "off",
      LOG_LEVEL: "error",
    },
  });

  const load = new Load({ api: apiUrl, processor: processorUrl, database: killer.databaseUrl }, randomFrom(seed + 1));
  await prepare(killer.databaseUrl, await load.signUpModerator());
  await setFaults(processorUrl);
  const began = Date.now();
  const loaded = load.run(Number(options.clients));
  killer.order("begin");
  const soak =
    options.soak === undefined
      ? null
      : startSoak({ load, kills, processes: killer.processes, databaseUrl: killer.databaseUrl });
  await sleep(seconds * 1000);
  const findings = await soak?.end(options.soak ?? "");
  problems.push(...(findings ?? []));

  // From here on nothing is killed and nothing fails: everything that was begun can finish.
  await rest(processorUrl, "DELETE", "/test/faults");
  // Refunds and disputes may have left the platform with less than it owes: payouts that wait for money get it now.
  await rest(processorUrl, "POST", "/test/balance", { body: { amountCents: 100_000_000 } });
  await killer.calm();
  load.stop();
  await loaded;
  const processorFile = join(directory, "processor", "processor.sqlite");
  const client = new pg.Client({ connectionString: killer.databaseUrl });
  await client.connect();
  try {
    const settling = Date.now();
    await settle(client, processorFile);
    console.log(`settled after ${((Date.now() - settling) / 1000).toFixed(1)} s`);
    problems.push(...load.surprises.map((surprise) => `surprise: ${surprise}`));
    problems.push(...(await findDifferences(client, load.acknowledged, processorFile)));
    problems.push(...(await auditDifferences(killer.databaseUrl, keys, processorUrl)));
    await printMovements(client);
  } finally {
    await client.end();
  }
  printLoad(load, (Date.now() - began) / 1000);
  printKills(load);
  await printFaults(processorUrl);
}

function secret(): string {
  return randomBytes(32).toString("hex");
}

/** Starts a module of this folder as a process of its own, with its settings as the only argument. */
function startChild(file: string, settings: EdgeSettings | KillerSettings): ChildProcess {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(settings)], { stdio: "inherit" });
  children.push(child);
  child.once("exit", (code) => {
    if (code !== 0) problems.push(`${file} ended with ${code}`);
  });
  return child;
}

/** Both children end when the channel to their parent closes, and stop what they have started. */
async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  if (child.connected) child.disconnect();
  await ended;
}

async function startEdge(settings: EdgeSettings) {
  const child = startChild("edge.ts", settings);
  const message = await new Promise((resolve) => child.once("message", resolve));
  return EdgeReady.parse(message);
}

async function startKiller(settings: KillerSettings) {
  const child = startChild("killer.ts", settings);
  const waiters = new Map<Report["type"], (report: Report) => void>();
  const processes = new Map<"api" | "worker", number>();
  const next = (type: Report["type"]) => new Promise<Report>((resolve) => waiters.set(type, resolve));
  child.on("message", (message) => {
    const report = Report.parse(message);
    if (report.type === "started") processes.set(report.name, report.pid);
    if (report.type === "killed") kills.push(report.kill);
    if (report.type === "ended") problems.push(report.what);
    waiters.get(report.type)?.(report);
  });
  child.once("exit", () => waiters.get("calm")?.({ type: "calm" }));
  const order = (word: Order) => void child.send(word);
  const ready = await next("ready");
  return {
    databaseUrl: ready.type === "ready" ? ready.databaseUrl : "",
    processes,
    order,
    async calm() {
      const calmed = next("calm").then(() => true);
      order("calm");
      if (!(await Promise.race([calmed, sleep(RECOVERY_TIMEOUT_MS, false, { ref: false })]))) {
        throw new Error(`not everything runs again after ${RECOVERY_TIMEOUT_MS / 1000} s`);
      }
    },
  };
}

/** Makes the user a moderator, and gives the platform a fee. */
async function prepare(databaseUrl: string, userId: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("UPDATE users SET role = 'moderator' WHERE id = $1", [userId]);
    await setFee(client);
  } finally {
    await client.end();
  }
}

async function setFaults(processorUrl: string): Promise<void> {
  for (const { name } of faults) {
    const share = name === "timeout_before" || name === "timeout_after" ? FAULT_SHARE[name] : FAULT_SHARE.other;
    const answer = await rest(processorUrl, "POST", "/test/faults", { body: { name, share } });
    if (answer.status !== 200) throw new Error(`the fault ${name} could not be set: ${answer.text}`);
  }
}

/** What `npm run audit` would report: a second opinion, from the code that users rely on. */
async function auditDifferences(
  databaseUrl: string,
  keys: { secretKey: string; webhookSecret: string },
  apiBase: string,
): Promise<string[]> {
  const database = openDatabase(databaseUrl, { poolSize: 2 });
  const processor = stripeProcessor({ secretKey: keys.secretKey, webhookSecrets: [keys.webhookSecret], apiBase });
  const report = await audit({ database, processor }, { since: null }).finally(database.close);
  return report.discrepancies.map((discrepancy) => `audit: ${JSON.stringify(discrepancy)}`);
}

/** Waits until nothing is under way; what never settles is a problem. */
async function settle(client: pg.Client, processorFile: string): Promise<void> {
  const timeoutMs = SETTLE_TIMEOUT_MS[options.soak === undefined ? "crash" : "soak"];
  for (const deadline = Date.now() + timeoutMs; ; await sleep(250)) {
    const unsettled = await findUnsettled(client, processorFile);
    if (unsettled.length === 0) return;
    if (Date.now() > deadline) {
      problems.push(`still under way after ${timeoutMs / 1000} s: ${unsettled.join(", ")}`);
      return;
    }
  }
}

function printLoad(load: Load, ranSeconds: number): void {
  const count = (outcome: SentRequest["outcome"]) => load.requests.filter((one) => one.outcome === outcome).length;
  console.log(
    `\n${load.requests.length} requests in ${ranSeconds.toFixed(0)} s: ${count("known")} were answered, ` +
      `${count("unknown")} may or may not have been done, ${count("abandoned")} were abandoned, ` +
      `${count("unsent")} found nobody listening`,
  );
  const { fault, hangUp, ignored } = load.replayed;
  console.log(
    `${fault + hangUp + ignored} repeats got the answer of an earlier request: ${fault} lost it to a kill or a fault, ` +
      `${hangUp} to a client that hung up, and ${ignored} to one that ignored it`,
  );
  if (fault + hangUp === 0) problems.push("no repeat got the answer of a request whose own answer was lost");
  if (ignored === 0) problems.push("no repeat was compared with the answer of its first request");
  const rows = acknowledgementKinds.map((kind) => ({
    acknowledged: kind,
    times: load.acknowledged.filter((one) => one.kind === kind).length,
  }));
  console.table(rows);
  for (const { acknowledged, times } of rows) if (times === 0) problems.push(`no ${acknowledged} was acknowledged`);
}

/** A kind of movement that the load never caused was not tested. */
async function printMovements(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ movement: string; times: number }>(
    `SELECT kind AS movement, count(DISTINCT e.transfer_id)::int AS times
     FROM unnest($1::text[]) WITH ORDINALITY AS known (kind, place) LEFT JOIN ledger_entries e USING (kind)
     GROUP BY kind, place ORDER BY place`,
    [[...ledgerKinds, "fee_withdrawal"]],
  );
  console.table(rows);
  for (const { movement, times } of rows) if (times === 0) problems.push(`no ${movement} was booked`);
}

/** A kill that hit nothing in flight proves nothing, so the hits are counted, and none may be zero. */
function printKills(load: Load): void {
  const rows = targets.map((target) => {
    const ofTarget = kills.filter((kill) => kill.target === target);
    const met = ofTarget.flatMap(({ at }) =>
      load.requests.filter(({ startedAt, endedAt }) => startedAt <= at && endedAt >= at),
    );
    return {
      killed: target,
      times: ofTarget.length,
      "requests in flight": met.length,
      "of these unknown": met.filter((request) => request.outcome === "unknown").length,
      "jobs cut": target === "worker" ? ofTarget.reduce((sum, kill) => sum + (kill.cutJobs ?? 0), 0) : null,
    };
  });
  console.table(rows);
  // A soak kills seldom, with few requests under way.
  for (const row of options.soak === undefined ? rows : []) {
    const proof = row.killed === "worker" ? row["jobs cut"] : row["of these unknown"];
    if (row.times === 0 || proof === 0)
      problems.push(`killing the ${row.killed} has cut nothing: ${JSON.stringify(row)}`);
  }
}

async function printFaults(processorUrl: string): Promise<void> {
  const { body } = await rest(processorUrl, "GET", "/test/faults");
  const rows = faults.map(({ name }) => ({
    fault: name,
    hits: Number(body.faults.find((fault: { name: string }) => fault.name === name)?.hits ?? 0),
  }));
  console.table(rows);
  for (const { fault, hits } of rows) if (hits === 0) problems.push(`the fault ${fault} never hit`);
}
