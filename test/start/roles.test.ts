import { cpSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import pg from "pg";
import { afterEach, describe, expect, inject, test } from "vitest";
import { takeLock } from "../../server/fileLock.ts";
import { readLocalState } from "../../server/local/dataDirectory/own.ts";
import { startObjectStore } from "../../server/local/objectStore/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { sql } from "../../server/store/connection.ts";
import { openDatabase } from "../../server/store/database.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, taskInput } from "../factories/tasks.ts";
import { expectBooksToBalance } from "../setup/books.ts";
import { rest } from "../setup/client.ts";
import { rawRequest } from "../setup/rawRequest.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import type { Reachable } from "../setup/testService.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const { start, dataDirectory, preparedDirectory } = useProcesses();
const undos: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of undos.splice(0).toReversed()) await undo();
});

const webhookSecret = "whsec_Yq3vGx8LmT2bRk7ZpW4nHs9JdC6fAe1U";
const WINDOW_SECONDS = 3;
const variables = { ACCEPTANCE_WINDOW_SECONDS: String(WINDOW_SECONDS) };

function reach(url: string, databaseUrl: string | undefined): Reachable {
  if (databaseUrl === undefined) throw new Error("there is no database");
  const database = openDatabase(databaseUrl, { poolSize: 4 });
  undos.push(database.close);
  return { url, services: { database } };
}

/** Delivers a task, and returns a function that reads it. */
async function deliver(service: Reachable) {
  const [buyer, bidder] = await Promise.all([createPerson(service, { cents: 10_000 }), createPerson(service)]);
  const { task } = await deliveredTask(buyer, bidder, { maxBudgetCents: 10_000, priceCents: 8_000 });
  return { id: task.id as string, buyer, bidder };
}

const readTask = async ({ id, buyer }: { id: string; buyer: TestPerson }) =>
  (await buyer.get(`/tasks/${id}`)).body.task;

/** Waits for the automatic acceptance, and returns by how many seconds it missed the deadline. */
async function untilAccepted(delivered: { id: string; buyer: TestPerson }): Promise<number> {
  await expect.poll(async () => (await readTask(delivered)).status, { interval: 100 }).toBe("accepted");
  const task = await readTask(delivered);
  expect(task.acceptedAt).toBe(task.acceptanceDeadlineAt);
  return (Date.parse(task.updatedAt) - Date.parse(task.acceptanceDeadlineAt)) / 1000;
}

/** Checks that each task was accepted and paid exactly once. */
async function expectPaidOnce(service: Reachable, delivered: { id: string; bidder: TestPerson }[]): Promise<void> {
  for (const { id, bidder } of delivered) {
    expect((await bidder.get("/wallet")).body).toEqual({ availableCents: 8_000, heldCents: 0 });
    const events = await service.services.database.query(sql`
      SELECT 1 FROM events WHERE task_id = ${id}::uuid AND type = 'task.accepted'`);
    expect(events).toHaveLength(1);
  }
  await expectBooksToBalance(service);
}

test("a delivery whose window ended while nothing was running is accepted after the restart", async () => {
  const DATA_DIR = await preparedDirectory();
  const first = await start({ ...variables, DATA_DIR });
  await first.ready();
  const before = reach(first.url, readLocalState(DATA_DIR)?.databaseUrl);
  const delivered = await deliver(before);
  const { acceptanceDeadlineAt } = await readTask(delivered);
  for (const undo of undos.splice(0)) await undo();
  expect((await first.stop()).code).toBe(0);
  await expect.poll(() => Date.now() > Date.parse(acceptanceDeadlineAt)).toBe(true);

  const second = await start({ ...variables, DATA_DIR, PORT: new URL(first.url).port });
  await second.ready();
  await untilAccepted(delivered);
  await expectPaidOnce(reach(second.url, readLocalState(DATA_DIR)?.databaseUrl), [delivered]);
});

/** Sends one request 40 times at once to all processes, with one `Idempotency-Key`: it is done once, and all get its answer. */
async function expectRepeatedOnce(services: readonly Reachable[]): Promise<void> {
  const [first] = services;
  if (first === undefined) throw new Error("no process to ask");
  const buyer = await createPerson(first, { cents: 100_000 });
  const body = { title: "Once", description: "However often it is asked for.", maxBudgetCents: 1_000, tags: [] };
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => {
      const { url } = services[index % services.length] ?? first;
      return rest(url, "POST", "/tasks", { body, credentials: buyer.session, headers: { "idempotency-key": "one" } });
    }),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === null)).toHaveLength(1);
  expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 99_000, heldCents: 1_000 });
}

/** Posts 50 tasks at once over all processes, with a key that may spend as much as 20 of them cost. */
async function expectLimitKept(services: readonly Reachable[]): Promise<void> {
  const [first] = services;
  if (first === undefined) throw new Error("no process to ask");
  const buyer = await createPerson(first, { cents: 100_000 });
  const spendLimit = { cents: 2_050, per: "total" };
  const key = await buyer.post("/keys", { label: "limited", scopes: ["task:write"], spendLimit });
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const { url } = services[index % services.length] ?? first;
      const credentials = { authorization: `Bearer ${key.body.raw}` };
      return (await rest(url, "POST", "/tasks", { body: taskInput({ maxBudgetCents: 100 }), credentials })).status;
    }),
  );
  expect(statuses.filter((status) => status === 201)).toHaveLength(20);
  expect(statuses.filter((status) => status === 403)).toHaveLength(30);
  expect((await buyer.get("/wallet")).body).toEqual({ availableCents: 98_000, heldCents: 2_000 });
}

describe("api and worker as separate processes", () => {
  test("share one data directory, in any order: the api starts the embedded services, the others join", async () => {
    const DATA_DIR = await dataDirectory();
    const workers = [await start({ ...variables, DATA_DIR, ROLE: "worker" })];
    const apis = [
      await start({ ...variables, DATA_DIR, ROLE: "api" }),
      await start({ ...variables, DATA_DIR, ROLE: "api" }),
    ];
    workers.push(await start({ ...variables, DATA_DIR, ROLE: "worker" }));
    await Promise.all([...workers, ...apis].map((process) => process.ready()));
    expect(workers[0]?.stdout()).toBe("Rebid is ready: worker\n");

    const databaseUrl = readLocalState(DATA_DIR)?.databaseUrl;
    const services = apis.map(({ url }) => reach(url, databaseUrl));
    const delivered = await Promise.all(services.map(deliver));
    for (const task of delivered) expect(await untilAccepted(task)).toBeLessThan(2);
    for (const service of services.slice(0, 1)) await expectPaidOnce(service, delivered);
    await expectRepeatedOnce(services);
    await expectLimitKept(services);

    const owner = readLocalState(DATA_DIR)?.pid;
    const others = [...workers, ...apis].filter(({ child }) => child.pid !== owner);
    expect(await Promise.all(others.map(async (process) => (await process.stop()).code))).toEqual([0, 0, 0]);
  });

  test("on external backing services: two of each, one worker killed", async () => {
    const [apiPort, otherPort] = [await unusedPort(), await unusedPort()];
    const settings = { ...variables, ...(await provideBackingServices(apiPort)) };
    // All at the same time, on an empty database.
    const [api, other, worker, killed] = await Promise.all([
      start({ ...settings, ROLE: "api", PORT: String(apiPort) }),
      start({ ...settings, ROLE: "api", PORT: String(otherPort) }),
      start({ ...settings, ROLE: "worker" }),
      start({ ...settings, ROLE: "worker" }),
    ]);
    await Promise.all([api, other, worker, killed].map((process) => process.ready()));

    const services = [api, other].map(({ url }) => reach(url, settings.DATABASE_URL));
    const delivered = await Promise.all([...services, ...services, ...services].map(deliver));
    await killed.stop("SIGKILL");
    for (const task of delivered) expect(await untilAccepted(task)).toBeLessThan(2);
    for (const service of services.slice(0, 1)) await expectPaidOnce(service, delivered);
    expect(await Promise.all([api, other, worker].map(async (process) => (await process.stop()).code))).toEqual([
      0, 0, 0,
    ]);
  });
});

test("a production process starts, serves and stops without server/local, and so do the operator's commands", async () => {
  const port = await unusedPort();
  const owned = await provideBackingServices(port);
  const settings = {
    ...owned,
    DATABASE_URL: asServiceRole(owned.DATABASE_URL),
    NODE_ENV: "production",
    HOST: "127.0.0.1",
    PUBLIC_URL: "https://rebid.example",
    PORT: String(port),
    METRICS_PORT: String(await unusedPort()),
  };
  const copy = await copyWithoutLocal();
  const early = await start(settings, [process.execPath, join(copy, "server/start/main.ts")]);
  expect(await early.ended).toBe(1);
  expect(early.stderr()).toContain("Run `npm run migrate` with DATABASE_OWNER_URL");
  const { DATABASE_URL } = settings;
  const urls = { DATABASE_OWNER_URL: owned.DATABASE_URL, DATABASE_URL };
  const migrate = await start(urls, [process.execPath, join(copy, "server/commands/migrate.ts")]);
  expect([await migrate.ended, migrate.stderr()]).toEqual([0, ""]);
  const production = await start(settings, [process.execPath, join(copy, "server/start/main.ts")]);
  await production.ready();
  expect(production.stdout()).toContain("STRIPE_SECRET_KEY is a test key");
  await createPerson(reach(production.url, settings.DATABASE_URL));
  const [refused] = await rawRequest(production.url, "this is not HTTP\r\n\r\n");
  expect(refused?.headers.get("strict-transport-security")).toBe("max-age=63072000; includeSubDomains");
  const statusOf = async (url: string) => (await fetch(url)).status;
  expect(await statusOf(`${production.url}/metrics`)).toBe(404);
  for (const method of ["GET", "POST", "DELETE"]) {
    const answer = await rest(production.url, method, "/test/clock");
    expect([answer.status, answer.body.error]).toEqual([404, "not_found"]);
  }
  expect(await statusOf(`http://127.0.0.1:${settings.METRICS_PORT}/metrics`)).toBe(200);
  expect(await statusOf(`http://127.0.0.1:${settings.METRICS_PORT}/livez`)).toBe(200);

  const command = (name: string, ...parameters: string[]) =>
    start(settings, [process.execPath, join(copy, "server/commands", name), ...parameters]);
  const commands = [await command("audit.ts"), await command("moderator.ts", "list")];
  // Outside production and without settings it would need the folder, and says so.
  const incomplete = await start({ DATA_DIR: settings.DATA_DIR }, [
    process.execPath,
    join(copy, "server/start/main.ts"),
  ]);
  for (const { ended, stderr } of commands) expect([await ended, stderr()]).toEqual([0, ""]);
  expect(await incomplete.ended).toBe(1);
  expect(incomplete.stderr()).toContain("The embedded services are not installed");
  expect((await production.stop()).code).toBe(0);
});

/** The same database, as the role that the tests' services use. */
function asServiceRole(databaseUrl: string): string {
  const url = new URL(inject("serviceRoleUrl"));
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}

/**
 * The server's files but for `server/local`, with the packages of this checkout. Always in one place, so that the compile
 * cache knows them; another run of the tests in this checkout waits.
 */
async function copyWithoutLocal(): Promise<string> {
  const directory = resolve(".build/production-test");
  await mkdir(".build", { recursive: true });
  const lock = await takeLock(`${directory}.lock`, 200_000);
  if (lock === null) throw new Error("another run of the tests has kept its copy for too long");
  const remove = () => rm(directory, { recursive: true, force: true });
  undos.push(async () => lock.release(), remove);
  await remove(); // a run that was killed left it
  cpSync("server", join(directory, "server"), {
    recursive: true,
    filter: (source) => source !== join("server", "local"),
  });
  cpSync("prisma", join(directory, "prisma"), { recursive: true });
  cpSync("package.json", join(directory, "package.json"));
  return directory;
}

/** Starts the backing services that a deployment provides, and returns their settings; the database is empty. */
async function provideBackingServices(eventsPort: number) {
  const directory = await mkdtemp(join(tmpdir(), "rebid-backing-services-"));
  undos.push(() => rm(directory, { recursive: true, force: true }));
  const keys = { bucket: "rebid", region: "us-east-1", accessKeyId: "test", secretAccessKey: "test-secret" };
  const store = await startObjectStore({ directory: join(directory, "objects"), ...keys });
  undos.push(store.stop);
  const processor = await startProcessor({
    directory: join(directory, "processor"),
    secretKey: "sk_test_roles",
    webhookSecret,
    eventsUrl: `http://127.0.0.1:${eventsPort}/processor/events`,
  });
  undos.push(processor.stop);

  const adminUrl = inject("postgresUrl");
  const name = `roles_${process.pid}_${Date.now()}`;
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  undos.push(async () => {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });
  return {
    DATABASE_URL: adminUrl.replace(/\/rebid$/, `/${name}`),
    DATA_DIR: join(directory, "never-made"),
    SESSION_SECRET: "a secret that both of the servers know",
    STRIPE_SECRET_KEY: "sk_test_roles",
    STRIPE_WEBHOOK_SECRET: webhookSecret,
    STRIPE_API_BASE: processor.url,
    S3_ENDPOINT: store.url,
    S3_BUCKET: keys.bucket,
    S3_REGION: keys.region,
    S3_ACCESS_KEY_ID: keys.accessKeyId,
    S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
  };
}
