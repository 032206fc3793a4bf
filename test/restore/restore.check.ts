import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stripeProcessor } from "../../server/gateways/stripeProcessor.ts";
import { startObjectStore } from "../../server/local/objectStore/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { sql } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { type Cluster, Clusters } from "../failover/cluster.ts";
import { type CommandResult, runScript } from "../setup/commandProcess.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const { start } = useProcesses();
const keys = { secretKey: "sk_test_restore", webhookSecret: "whsec_restore" };
const store = { bucket: "rebid", region: "us-east-1", accessKeyId: "restore", secretAccessKey: "restore-secret" };
const stops: (() => Promise<void>)[] = [];
let clusters: Clusters;
let settings: Record<string, string>;
let processorUrl: string;
/** When the database is restored to. */
let point: string;
let buyer: TestPerson;
let bidder: TestPerson;

/** What happened after the point, which restored books lack: payouts by id, a file by its bid. */
const lost = { payouts: [] as string[], bidId: "" };

const urlOf = (cluster: Cluster, role: "rebid_owner" | "rebid_service") => {
  const url = new URL(cluster.url);
  return Object.assign(url, { username: role, pathname: "/rebid" }).href;
};
const settingsOf = (cluster: Cluster) => ({
  ...settings,
  DATABASE_URL: urlOf(cluster, "rebid_service"),
  DATABASE_OWNER_URL: urlOf(cluster, "rebid_owner"),
});

/** What an operator has to do once for each server. */
async function createRoles(cluster: Cluster): Promise<void> {
  for (const role of ["rebid_owner", "rebid_service"]) await cluster.query(`CREATE ROLE ${role} LOGIN`);
  await cluster.query("CREATE DATABASE rebid OWNER rebid_owner");
}

async function run(cluster: Cluster, name: string, ...words: string[]): Promise<CommandResult> {
  return runScript(name, words, settingsOf(cluster));
}

/** Uses a service on this database, and stops it. */
async function withService(cluster: Cluster, work: (running: ServiceProcess, database: Database) => Promise<void>) {
  const running = await start({ ...settingsOf(cluster), PORT: new URL(settings.PUBLIC_URL ?? "").port });
  await running.ready();
  const database = openDatabase(urlOf(cluster, "rebid_owner"), { poolSize: 1 });
  try {
    await work(running, database);
  } finally {
    await database.close();
    await running.stop();
  }
}

const moneyOf = async (database: Database, { id }: TestPerson) => {
  const [wallet] = await database.query<{ available: number; held: number; debt: number }>(sql`
    SELECT available_cents AS available, held_cents AS held, debt_cents AS debt FROM wallets WHERE user_id = ${id}::uuid`);
  return wallet;
};

async function topUp(person: TestPerson, amountCents: number): Promise<void> {
  const { status, body, text } = await person.post("/wallet/topup", { amountCents });
  if (status !== 200) throw new Error(`the top-up returned ${status}: ${text}`);
  const before = (await person.get("/wallet")).body.availableCents;
  await control({ processorUrl }, "POST", `checkout/${body.sessionId}/pay`, { outcome: "pays" });
  await eventually(
    async () => (await person.get("/wallet")).body.availableCents,
    (cents) => cents === before + amountCents,
  );
}

async function payOut(person: TestPerson, amountCents: number): Promise<string> {
  const answer = await person.post("/payouts", { amountCents });
  if (answer.status !== 202) throw new Error(`the payout returned ${answer.status}: ${answer.text}`);
  const latest = async () => (await person.get("/payouts")).body.payouts[0];
  await eventually(latest, ({ status }) => status === "paid");
  return (await latest()).id;
}

/** The transfers that the processor has made, oldest first, by our payout's id. */
const sent = async (): Promise<(string | null)[]> => {
  const { secretKey, webhookSecret } = keys;
  const processor = stripeProcessor({ secretKey, webhookSecrets: [webhookSecret], apiBase: processorUrl });
  const payouts: (string | null)[] = [];
  for await (const { transferGroup } of processor.listTransfers(0)) payouts.unshift(transferGroup);
  return payouts;
};

beforeAll(async () => {
  clusters = await Clusters.open();
  stops.push(() => clusters.close());
  const directory = await mkdtemp(join(tmpdir(), "rebid-restore-"));
  stops.push(() => rm(directory, { recursive: true, force: true }));
  const PUBLIC_URL = `http://127.0.0.1:${await unusedPort()}`;
  const objects = await startObjectStore({ directory: join(directory, "objects"), ...store });
  const eventsUrl = `${PUBLIC_URL}/processor/events`;
  const processor = await startProcessor({ directory: join(directory, "processor"), eventsUrl, stepMs: 200, ...keys });
  stops.push(objects.stop, processor.stop);
  processorUrl = processor.url;
  settings = {
    PUBLIC_URL,
    DATA_DIR: join(directory, "data"),
    SESSION_SECRET: "restored-together-with-the-database-0123456789",
    ...{ STRIPE_SECRET_KEY: keys.secretKey, STRIPE_WEBHOOK_SECRET: keys.webhookSecret, STRIPE_API_BASE: processor.url },
    ...{ S3_ENDPOINT: objects.url, S3_BUCKET: store.bucket, S3_REGION: store.region },
    ...{
      S3_ACCESS_KEY_ID: store.accessKeyId,
      S3_SECRET_ACCESS_KEY: store.secretAccessKey,
      PROCESSOR_POLL_SECONDS: "2",
    },
  };
  const primary = await clusters.create("primary");
  await createRoles(primary);
  expect((await run(primary, "migrate")).stderr).toBe("");
  await clusters.copy("base", primary);
  await withService(primary, liveOn(primary));
  // The archive has the last of it.
  await primary.stop("fast");
}, 240_000);
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

/** A service's life before and after the point to which it is restored. */
function liveOn(primary: Cluster) {
  return async ({ url }: ServiceProcess, database: Database) => {
    const service = { url, services: { database } };
    [buyer, bidder] = [await createPerson(service), await createPerson(service)];
    await topUp(buyer, 40_000);
    const onboarding = await bidder.post("/payouts/onboarding");
    expect(onboarding.status).toBe(200);
    const [account] = await database.query<{ id: string }>(sql`SELECT account_id AS id FROM payout_accounts`);
    await control({ processorUrl }, "POST", `accounts/${account?.id}/onboard`, { outcome: "finishes", bank: "pays" });
    const { task } = await deliveredTask(buyer, bidder);
    await buyer.post(`/tasks/${task.id}/accept`);
    await payOut(bidder, 2_000);

    await clusters.run(
      "pg_dump",
      "--format=custom",
      `--file=${clusters.pathOf("dump")}`,
      urlOf(primary, "rebid_owner"),
    );
    [{ point }] = (await primary.query("SELECT clock_timestamp()::text AS point")) as [{ point: string }];

    await topUp(buyer, 5_000);
    lost.payouts.push(await payOut(bidder, 3_000));
    const { bid } = await deliveredTask(buyer, bidder);
    lost.bidId = bid.id;
    await topUp(await createPerson(service), 700);
  };
}

/** From the command's list up to a payout that is sent, on a database that was restored to the point. */
async function expectRecovery(cluster: Cluster, paidOutCents: number): Promise<void> {
  const before = await sent();
  const shown = await run(cluster, "reconcile");
  expect([shown.code, shown.stderr]).toEqual([1, ""]);
  const [missing = "", unknown = "", files = ""] = shown.stdout.split(/^\S.*:$/m).slice(1);
  const payouts = lost.payouts.map((id) => expect.stringContaining(`payout ${id} of `));
  const topup = expect.stringMatching(/^top-up \S+ of 5000 usd .*: credited$/);
  expect(itemsOf(missing)).toHaveLength(1 + payouts.length);
  expect(itemsOf(missing)).toEqual(expect.arrayContaining([topup, ...payouts]));
  expect(itemsOf(unknown)).toEqual([expect.stringMatching(/^top-up \S+ of 700 usd /)]);
  expect(itemsOf(files)).toEqual([expect.stringContaining(`deliveries of bid ${lost.bidId}: sealed/`)]);
  expect(shown.stdout).toContain("Payouts are paused.");
  expect((await run(cluster, "doctor")).stdout).toContain("no payout is sent until the books agree");

  await withService(cluster, async (_, database) => {
    expect(await moneyOf(database, buyer)).toEqual({ available: 32_000, held: 0, debt: 0 });
    expect(await moneyOf(database, bidder)).toEqual({ available: 6_000, held: 0, debt: 0 });
    // Both can be used at once, but money cannot leave.
    expect((await buyer.get("/wallet")).status).toBe(200);
    const refused = await bidder.post("/payouts", { amountCents: 6_000 });
    expect([refused.status, refused.body.error]).toEqual([503, "unavailable"]);

    const booked = await run(cluster, "reconcile", "--apply");
    expect(booked.stdout).toContain("Payouts are sent.");
    const missed = before.length === 2 ? 3_000 : 3_000 + paidOutCents;
    expect(await moneyOf(database, buyer)).toEqual({ available: 37_000, held: 0, debt: 0 });
    expect(await moneyOf(database, bidder)).toEqual({ available: 6_000 - missed, held: 0, debt: 0 });
    const again = await run(cluster, "reconcile", "--apply");
    expect(again.stdout).not.toContain("Booked");
    lost.payouts.push(await payOut(bidder, paidOutCents));
    expect(await sent()).toEqual([...before, lost.payouts.at(-1)]);
    const audit = await run(cluster, "audit");
    // The stranger's money is all that is left, until it is refunded.
    expect([audit.code, audit.stdout.match(/^ {4}.*/gm)]).toEqual([1, [expect.stringContaining("credited 700")]]);
  });
}

const itemsOf = (text: string): string[] => Array.from(text.matchAll(/^ {4}(.*)$/gm), ([, item]) => item ?? "");

test("a dump that is restored into another server is recovered: each missing thing is named, booked once, and no payout is sent twice", async () => {
  const cluster = await clusters.create("dumped");
  await createRoles(cluster);
  const url = urlOf(cluster, "rebid_owner");
  await clusters.run("pg_restore", "--no-owner", "--exit-on-error", `--dbname=${url}`, clusters.pathOf("dump"));
  expect((await run(cluster, "migrate")).code).toBe(0);
  await expectRecovery(cluster, 1_000);
}, 240_000);

test("a base backup with its log, restored to a point in time, is recovered in the same way", async () => {
  const cluster = await clusters.restore("base", "primary", `recovery_target_time = '${point}'`);
  await expectRecovery(cluster, 1_000);
}, 240_000);
