import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startObjectStore } from "../../server/local/objectStore/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { openDatabase } from "../../server/store/database.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { cookieOf, createPerson } from "../factories/people.ts";
import { awardedTask } from "../factories/tasks.ts";
import { useBalancers } from "../setup/balancer.ts";
import { type Answer, rest } from "../setup/client.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";
import { createTestDatabase, type TestDatabase } from "../setup/testDatabase.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const { start } = useProcesses();
const openBalancer = useBalancers();
const secret = () => randomBytes(24).toString("hex");
const stops: (() => Promise<void>)[] = [];

/** What the processor and the store accept, and sign with, at the moment: they read it each time. */
const processorKeys = { secretKey: `sk_test_${secret()}`, webhookSecret: `whsec_${secret()}` };
const storeKeys = { accessKeyId: "first", secretAccessKey: secret(), formerKeys: new Map<string, string>() };
const roles: string[] = [];
let database: TestDatabase;
let directory: string;
let processorUrl: string;
let settings: Record<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  stops.push(database.drop);
  directory = await mkdtemp(join(tmpdir(), "rebid-rotation-"));
  stops.push(() => rm(directory, { recursive: true, force: true }));
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

/** Statements of an operator. */
async function asOwner(...statements: string[]): Promise<void> {
  const owner = openDatabase(database.ownerUrl, { poolSize: 1 });
  for (const statement of statements) await owner.pool.query(statement);
  await owner.close();
}

/** A login with the rights of the service, as `npm run migrate` grants them. */
async function createRole(): Promise<string> {
  const role = `rotated_${randomBytes(4).toString("hex")}`;
  roles.push(role);
  const password = secret();
  await asOwner(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  const url = Object.assign(new URL(database.url), { username: role, password }).href;
  await migrateDatabase(database.ownerUrl, url);
  return url;
}

async function startWorld(eventsUrl: string): Promise<void> {
  const store = Object.assign(storeKeys, {
    directory: join(directory, "objects"),
    bucket: "rebid",
    region: "us-east-1",
  });
  const objects = await startObjectStore(store);
  const world = Object.assign(processorKeys, { directory: join(directory, "processor"), eventsUrl, stepMs: 50 });
  const processor = await startProcessor(world);
  stops.push(objects.stop, processor.stop);
  processorUrl = processor.url;
  settings = {
    ...{ DATABASE_URL: await createRole(), DATA_DIR: join(directory, "data"), DRAIN_SECONDS: "1.5", TRUST_PROXY: "1" },
    ...{ SESSION_SECRET: secret(), STRIPE_API_BASE: processor.url, STRIPE_SECRET_KEY: processorKeys.secretKey },
    ...{ STRIPE_WEBHOOK_SECRET: processorKeys.webhookSecret, S3_ENDPOINT: objects.url, S3_BUCKET: "rebid" },
    ...{ S3_ACCESS_KEY_ID: storeKeys.accessKeyId, S3_SECRET_ACCESS_KEY: storeKeys.secretAccessKey },
    // Only events credit top-ups within the test.
    PROCESSOR_POLL_SECONDS: "3600",
  };
}

/** Two api processes behind a balancer, and a worker. */
async function startInstallation() {
  const ports = [await unusedPort(), await unusedPort()];
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const { balancer, url } = await openBalancer(urls);
  await startWorld(`${url}/processor/events`);
  const begin = async (variables: Record<string, string>) => {
    const running = await start({ ...settings, PUBLIC_URL: url, ...variables });
    await running.ready();
    return running;
  };
  const members = [
    ...ports.map((port) => ({ ROLE: "api", PORT: String(port) })),
    { ROLE: "worker", PORT: String(await unusedPort()) },
  ];
  const running: ServiceProcess[] = await Promise.all(members.map(begin));
  await balancer.leadsTo(2);
  return {
    url,
    /** Restarts one process after the other with these settings, as an operator does. */
    async restart(changes: Record<string, string>): Promise<void> {
      Object.assign(settings, changes);
      for (const [index, member] of members.entries()) {
        await running[index]?.stop();
        running[index] = await begin(member);
        await balancer.leadsTo(2);
      }
    },
  };
}

/** People who do everything that needs a secret, until `stop`. */
function startLoad(work: Record<string, () => Promise<void>>) {
  const done = Object.fromEntries(Object.keys(work).map((name) => [name, 0]));
  const failures: string[] = [];
  let isOver = false;
  const loop = async ([name, once]: [string, () => Promise<void>]) => {
    for (; !isOver; await sleep(20)) {
      try {
        await once();
        done[name] = (done[name] ?? 0) + 1;
      } catch (error) {
        failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
      }
    }
  };
  const loops = Object.entries(work).map(loop);
  return {
    done,
    failures,
    /** Waits until each has been done again, from its start. */
    async round(): Promise<void> {
      const before = { ...done };
      const isComplete = () => Object.keys(work).every((name) => (done[name] ?? 0) >= (before[name] ?? 0) + 2);
      await expect.poll(() => isComplete() || failures.length > 0, { timeout: 60_000, interval: 50 }).toBe(true);
      expect(failures.slice(0, 5)).toEqual([]);
    },
    async stop(): Promise<void> {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

function expected(status: number, answer: Answer): Answer {
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text}`);
  return answer;
}

test("session secret, processor key, webhook secret, S3 keys and database role are replaced under load: no request, payment or upload fails", async () => {
  const { url, restart } = await startInstallation();
  const owner = openDatabase(database.ownerUrl, { poolSize: 2 });
  stops.push(owner.close);
  const service = { url, services: { database: owner } };
  const [buyer, bidder] = [await createPerson(service, { cents: 100_000_000 }), await createPerson(service)];
  const payer = await createPerson(service);
  // Signs in so often that the oldest of the sessions end.
  const visitor = await createPerson(service);
  let cursor: string = expected(200, await buyer.get("/events?after=latest")).body.nextCursor;
  const kept = cursor;

  const load = startLoad({
    async session() {
      expected(200, await buyer.get("/auth/me"));
      const body = { email: visitor.email, password: visitor.password };
      const credentials = cookieOf(expected(200, await rest(url, "POST", "/auth/login", { body })));
      // Through both processes.
      for (let turn = 0; turn < 4; turn++) expected(200, await rest(url, "GET", "/auth/me", { credentials }));
    },
    async cursor() {
      for (let turn = 0; turn < 2; turn++)
        cursor = expected(200, await buyer.get(`/events?after=${cursor}`)).body.nextCursor;
    },
    async payment() {
      const before = expected(200, await payer.get("/wallet")).body.availableCents;
      const { body } = expected(200, await payer.post("/wallet/topup", { amountCents: 500 }));
      await control({ processorUrl }, "POST", `checkout/${body.sessionId}/pay`, { outcome: "pays" });
      await eventually(
        async () => expected(200, await payer.get("/wallet")).body.availableCents,
        (cents) => cents === before + 500,
      );
    },
    async upload() {
      const { bid } = await awardedTask(buyer, bidder);
      const init = { mimeType: "text/plain", bytes: 5 };
      const { body } = expected(200, await bidder.post(`/bids/${bid.id}/delivery/init`, init));
      const headers = { "content-type": "text/plain" };
      const put = await fetch(body.uploadUrl, { method: "PUT", headers, body: "hello" });
      if (put.status !== 200) throw new Error(`the upload returned ${put.status}: ${await put.text()}`);
      const { storageKey } = body;
      const { delivery } = expected(201, await bidder.post(`/bids/${bid.id}/delivery/finalize`, { storageKey })).body;
      const { status } = await fetch(delivery.downloadUrl);
      if (status !== 200) throw new Error(`the download returned ${status}`);
    },
  });
  await load.round();

  // The session secret: known to all before anyone uses it, and in use before the old one goes.
  const [oldSecret, newSecret] = [settings.SESSION_SECRET ?? "", secret()];
  for (const SESSION_SECRET of [`${oldSecret},${newSecret}`, `${newSecret},${oldSecret}`]) {
    await restart({ SESSION_SECRET });
    await load.round();
  }
  expect((await buyer.get(`/events?after=${kept}`)).status).toBe(200);

  // The processor's key and webhook secret: both work there, then ours change, then the old ones end.
  const oldKeys = { ...processorKeys };
  const newKeys = { secretKey: `sk_test_${secret()}`, webhookSecret: `whsec_${secret()}` };
  processorKeys.secretKey = `${oldKeys.secretKey},${newKeys.secretKey}`;
  processorKeys.webhookSecret = `${oldKeys.webhookSecret},${newKeys.webhookSecret}`;
  const STRIPE_WEBHOOK_SECRET = `${newKeys.webhookSecret},${oldKeys.webhookSecret}`;
  await restart({ STRIPE_SECRET_KEY: newKeys.secretKey, STRIPE_WEBHOOK_SECRET });
  Object.assign(processorKeys, newKeys);
  await load.round();

  // The bucket's keys, and the role of the database.
  const oldRole = roles.at(-1) ?? "";
  storeKeys.formerKeys.set(storeKeys.accessKeyId, storeKeys.secretAccessKey);
  Object.assign(storeKeys, { accessKeyId: "second", secretAccessKey: secret() });
  const { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY } = storeKeys;
  await restart({ S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, DATABASE_URL: await createRole() });
  // Nothing that was signed with the old keys is under way any more.
  await load.round();
  storeKeys.formerKeys.clear();
  await asOwner(`DROP OWNED BY ${oldRole}`, `DROP ROLE ${oldRole}`);
  await load.round();

  await load.stop();
  expect(load.failures).toEqual([]);
  stops.push(async () => asOwner(...roles.slice(1).flatMap((role) => [`DROP OWNED BY ${role}`, `DROP ROLE ${role}`])));
}, 300_000);
