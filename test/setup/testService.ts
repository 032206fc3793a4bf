import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { MovableClock } from "../../server/gateways/clock.ts";
import { openInspector } from "../../server/gateways/inspection/inspector.ts";
import { openJudge } from "../../server/gateways/judging/judge.ts";
import type { ResolveName } from "../../server/gateways/resolveName.ts";
import { createApp } from "../../server/http/app.ts";
import { startWorker } from "../../server/jobs/worker.ts";
import type { LimiterOptions } from "../../server/limits/limiter.ts";
import { startMailbox } from "../../server/local/mailbox/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { ensurePushKey } from "../../server/notifications/pushKeys.ts";
import { createServices, type Services, type Settings } from "../../server/services.ts";
import { sessionSettingsOf } from "../../server/store/connection.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { followTestClock } from "../../server/store/followTestClock.ts";
import { type PoolSettings, requestPool } from "../../server/store/poolSettings.ts";
import { migrateDatabase } from "../../server/store/schema.ts";
import { noteAnswers, watchAnswer } from "./documentedAnswers.ts";
import { TestClock } from "./testClock.ts";
import { createTestDatabase, type TestDatabase } from "./testDatabase.ts";
import { startTestStore } from "./testStore.ts";

export interface TestService {
  /** `http://127.0.0.1:<port>`, where the service really listens. */
  url: string;
  services: Services;
  /** The service's clock, unless it has a `testClock`. */
  clock: TestClock;
  processorUrl: string;
  /** The mailbox's page; null without one. */
  mailboxUrl: string | null;
  databaseUrl: string;
  /** The database as its owner, a superuser, for statements that the service's role may not run. */
  owner: Database;
  ownerUrl: string;
  /** What was logged at level error, one JSON object a line; a test that provokes errors empties it. */
  errors: string[];
  /** The answers that were not as the API document says. */
  undocumented: string[];
  /** The entries of the security log. */
  securityEntries: Record<string, unknown>[];
}

/** What factories need: where a service listens, and its database. */
export interface Reachable {
  url: string;
  services: Pick<Services, "database"> & Partial<Pick<Services, "settings" | "clock">>;
}

/** What factories of payments need. */
export type WithProcessor = Reachable & Pick<TestService, "processorUrl">;

export interface TestServiceOptions {
  settings?: Partial<Settings>;
  /** Also run jobs and sweeps. */
  worker?: boolean;
  /** What differs from the pool of a real API process. */
  pool?: Partial<PoolSettings>;
  /** The names that webhook URLs may have; none resolves by default. */
  resolve?: ResolveName;
  /** The clock is the database's, which `POST /test/clock` moves; the processor and the worker follow it. */
  testClock?: boolean;
  /** Send mails, to a mailbox of the service's own. No mails are sent by default. */
  mailbox?: boolean;
  /** Limits requests, with these figures in place of the contract's; nothing is limited by default. */
  limiter?: LimiterOptions;
}

/** The services of a process share one: starting its thread takes 0.1 s of CPU time. */
const inspector = openInspector({ log: pino({ level: "silent" }) });
const judge = openJudge({ log: pino({ level: "silent" }) });

/** Requests that no client waits for any more end by themselves within this time, or never. */
const LAST_ANSWERS_MS = 2_000;

const resolveNothing: ResolveName = () => Promise.reject(new Error("the tests have no name server"));

/**
 * A whole service for one test file: database, object store and payment processor of its own, listening on loopback.
 * After the tests it fails the file if an internal or an undocumented error was logged, or an answer was not as documented.
 */
export function useService(options: TestServiceOptions = {}): TestService {
  const service = {} as TestService; // filled before the first test runs
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const database = await createTestDatabase();
    stops.push(database.drop);
    if (options.testClock) await migrateDatabase(database.ownerUrl, database.url, { testClock: true });
    const owner = openDatabase(database.ownerUrl, { poolSize: 2 });
    stops.push(owner.close);
    const poolerUrl = process.env.TEST_POOLER ? await startTestPooler(database, owner, stops) : null;
    const started = await start(options, { databaseUrl: database.url, poolerUrl }, stops);
    Object.assign(service, started, { owner, ownerUrl: database.ownerUrl });
  });

  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
    noteAnswers(inject("answersFolder"));
    expect(service.errors, "errors in the service's log").toEqual([]);
    expect(service.undocumented, "answers that are not as documented").toEqual([]);
  });

  return service;
}

/** An app of a service, whose answers are compared with the API document. */
export function watched({ undocumented }: Pick<TestService, "undocumented">, app: RequestListener): RequestListener {
  return (request, response) => {
    watchAnswer(request, response, (fault) => undocumented.push(fault));
    app(request, response);
  };
}

/** For `npm run check:pooler`: lets the role have what the pooler keeps services from setting. */
async function startTestPooler(
  { url }: TestDatabase,
  owner: Database,
  stops: (() => Promise<void>)[],
): Promise<string> {
  const { username, pathname } = new URL(url);
  for (const [name, value] of Object.entries(sessionSettingsOf(requestPool)))
    await owner.pool.query(`ALTER ROLE ${username} IN DATABASE ${pathname.slice(1)} SET ${name} = '${value}'`);
  const { startPooler } = await import("../pooler/pooler.ts");
  const pooler = await startPooler(url);
  stops.push(pooler.stop);
  return pooler.url;
}

async function start(
  options: TestServiceOptions,
  { databaseUrl, poolerUrl }: { databaseUrl: string; poolerUrl: string | null },
  stops: (() => Promise<void>)[],
): Promise<Omit<TestService, "owner" | "ownerUrl">> {
  const directory = await mkdtemp(join(tmpdir(), "rebid-parts-"));
  stops.push(() => rm(directory, { recursive: true, force: true }));
  // Longer than any pause of a test: a client must not find its idle connection closed under it.
  const server = createServer({ keepAliveTimeout: 120_000 });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const store = await startTestStore();
  stops.push(store.stop);
  const clock = new TestClock();
  const movable = new MovableClock();
  if (options.testClock) {
    const log = pino({ level: "silent" });
    stops.push((await followTestClock(movable, { databaseUrl, log })).stop);
  }
  const stopping = new AbortController();
  const serviceClock = options.testClock ? movable : clock;

  const secrets = { secretKey: "sk_test_tests", webhookSecret: "whsec_tests" };
  const payments = await startProcessor({
    directory: join(directory, "processor"),
    eventsUrl: `${url}/processor/events`,
    stepMs: 20,
    ...(options.testClock && { clock: movable }),
    ...secrets,
  });
  stops.push(payments.stop);

  const mailbox = options.mailbox ? await startMailbox({ directory: join(directory, "mailbox") }) : null;
  if (mailbox !== null) stops.push(mailbox.stop);

  const errors: string[] = [];
  const securityEntries: Record<string, unknown>[] = [];
  const { services, close } = createServices(
    {
      databaseUrl: poolerUrl ?? databaseUrl,
      sessionSecrets: ["a secret of the tests of 32 characters or more"],
      mail: mailbox && { smtpUrl: mailbox.smtpUrl, from: "Rebid <rebid@example.com>" },
      processor: {
        secretKey: secrets.secretKey,
        webhookSecrets: [secrets.webhookSecret],
        apiBase: payments.url,
      },
      storage: store.settings,
    },
    {
      settings: {
        publicUrl: url,
        appOrigins: [],
        corsOrigins: [],
        trustLocalhost: false,
        acceptanceWindowSeconds: 172_800,
        deliveryGraceSeconds: 604_800,
        agreementSeconds: 604_800,
        mailEventsSecret: null,
        passwordBlocklist: "off",
        processorPollSeconds: 300,
        operatorTimeZone: "UTC",
        operator: { name: null, address: null, taxId: null },
        operatorPaper: "A4" as const,
        spamGuard: false,
        moderatorTotp: false,
        oauthClientsFile: null,
        oauthDynamicClients: false,
        webhookAllowInsecure: false,
        webhookRetrySeconds: [30, 120, 600, 3_600, 21_600],
        webhookTimeoutSeconds: 10,
        ...options.settings,
      },
      pool: { ...requestPool, ...options.pool, ...(poolerUrl !== null && { pooler: "transaction" }) },
      clock: serviceClock,
      testClock: options.testClock ? { databaseUrl, processorUrl: payments.url, stopping: stopping.signal } : null,
      inspector: { inspect: inspector.inspect, close: async () => undefined },
      judge: { ...judge, close: async () => undefined },
      resolve: options.resolve ?? resolveNothing,
      limiter: options.limiter ?? null,
      securityLogger: pino({ base: null }, { write: (line) => void securityEntries.push(JSON.parse(line)) }),
      log: pino(
        { level: "error", serializers: { error: pino.stdSerializers.err } },
        { write: (line) => void errors.push(line) },
      ),
    },
  );
  stops.push(close);
  await ensurePushKey(services.database);
  if (options.worker) {
    const worker = await startWorker(services, { concurrency: 4 });
    stops.push(worker.stop);
  }
  const undocumented: string[] = [];
  const unanswered = new Set<ServerResponse>();
  const app = watched({ undocumented }, createApp(services, { trustProxy: false }));
  const isAnswered = ({ headersSent, writableEnded }: ServerResponse) => headersSent || writableEnded;
  server.on("request", (request, response) => {
    unanswered.add(response);
    response.once("close", () => isAnswered(response) && unanswered.delete(response));
    app(request, response);
  });
  stops.push(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    // A page that was closed leaves requests behind, which still need the database.
    const endMs = Date.now() + LAST_ANSWERS_MS;
    while (![...unanswered].every(isAnswered) && Date.now() < endMs) await sleep(10);
  });
  return {
    ...{ url, services, clock, processorUrl: payments.url, mailboxUrl: mailbox?.pageUrl ?? null },
    ...{ databaseUrl, errors, undocumented, securityEntries },
  };
}
