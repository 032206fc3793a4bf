import { randomUUID } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { alertsAt } from "../../deploy/monitoring/alerts.ts";
import { rows } from "../../deploy/monitoring/panels.ts";
import { readLocalState } from "../../server/local/dataDirectory/own.ts";
import { startMailbox } from "../../server/local/mailbox/start.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { createPayee, type Payee, requestPayout } from "../factories/payouts.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { deliveredTask, postTask } from "../factories/tasks.ts";
import { openTopup, paidTopup, pay, topupStatus } from "../factories/topups.ts";
import { rest } from "../setup/client.ts";
import { runScript } from "../setup/commandProcess.ts";
import { control, eventually } from "../setup/processorControl.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";
import type { WithProcessor } from "../setup/testService.ts";
import { unusedPort } from "../setup/unusedPort.ts";
import { type Receiver, startReceiver } from "../webhooks/receiver.ts";
import { Prometheus } from "./prometheus.ts";

/** As many as may sign up from one address in a minute, with the others below. */
const BIDDERS = 8;
const MOST_CENTS = 100_000;

const { start, preparedDirectory } = useProcesses(afterAll);
let directory: string;
let variables: Record<string, string>;
const ports: Record<"api" | "worker", number> = { api: 0, worker: 0 };
let api: ServiceProcess;
let worker: ServiceProcess;
let mailbox: { smtpUrl: string; stop(): Promise<void> };
let receiver: Receiver;
/** What the receiver of webhooks answers. */
let receiverStatus = 200;
let prometheus: Prometheus;
/** A superuser. */
let owner: Database;
let service: WithProcessor;
let buyer: TestPerson;
let payee: Payee;
let bidders: TestPerson[];

const startMail = (smtp?: number) =>
  startMailbox({ directory: join(dirname(directory), "mailbox"), preferredPorts: { smtp } });
const startRole = (role: "api" | "worker") => start({ ...variables, ROLE: role, METRICS_PORT: String(ports[role]) });

beforeAll(async () => {
  directory = await preparedDirectory();
  [mailbox, receiver] = await Promise.all([startMail(), startReceiver(() => receiverStatus)]);
  variables = {
    DATA_DIR: directory,
    SMTP_URL: mailbox.smtpUrl,
    MAIL_FROM: "Rebid <rebid@example.com>",
    RATE_LIMITS: "on",
    WEBHOOK_ALLOW_INSECURE: "on",
    WEBHOOK_RETRY_SECONDS: Array(600).fill(1).join(),
  };
  Object.assign(ports, { api: await unusedPort(), worker: await unusedPort() });
  prometheus = await Prometheus.start(start, join(dirname(directory), "prometheus"), ports);
  api = await startRole("api");
  worker = await startRole("worker");
  await Promise.all([api.ready(), worker.ready()]);
  const { databaseOwnerUrl, processor } = readLocalState(directory) ?? {};
  owner = openDatabase(databaseOwnerUrl ?? "", { poolSize: 4 });
  service = { url: api.url, services: { database: owner }, processorUrl: processor?.apiBase ?? "" };
  // With money that came in as it does in life: the audits look at everything.
  buyer = await createPerson(service);
  payee = await createPayee(service, { cents: 0, platformCents: 0 });
  bidders = await Promise.all(Array.from({ length: BIDDERS }, () => createPerson(service)));
  await topUp(buyer);
  await topUp(payee);
});

afterAll(() => Promise.all([owner.close(), mailbox.stop(), receiver.stop()]));

async function topUp(person: TestPerson): Promise<void> {
  const topup = await paidTopup(service, person, MOST_CENTS);
  await eventually(
    () => topupStatus(service, topup),
    (status) => status === "paid",
  );
}

/** The names of alerts, without their prefix. */
type Names = readonly string[];
const full = (names: Names) => names.map((name) => `Rebid${name}`).sort();
const firingOf = async (names: Names) => {
  const firing = await prometheus.firing();
  return full(names).filter((name) => firing.includes(name));
};
const toFire = (names: Names) => expect.poll(() => firingOf(names), { interval: 250 }).toEqual(full(names));
const toEnd = (names: Names) => expect.poll(() => firingOf(names), { interval: 250, timeout: 120_000 }).toEqual([]);

/** Expects that these alerts do not fire, that they fire while the fault lasts, and that they do not when it has ended. */
async function during(names: Names, fault: () => Promise<() => Promise<void>>): Promise<void> {
  expect(await firingOf(names)).toEqual([]);
  const end = await fault();
  await toFire(names).finally(end);
  await toEnd(names);
}

/** Repeats something until the returned function is called. */
function repeatedly(work: () => Promise<unknown>): () => Promise<void> {
  let goesOn = true;
  const rounds = (async () => {
    while (goesOn) await work();
  })();
  return async () => {
    goesOn = false;
    await rounds;
  };
}

async function audit(): Promise<void> {
  const { rows: before } = await owner.pool.query("SELECT count(*) FROM ledger_audits");
  await owner.pool.query("SELECT graphile_worker.add_job('auditLedger')");
  const count = async () => (await owner.pool.query("SELECT count(*) FROM ledger_audits")).rows;
  await expect.poll(count).not.toEqual(before);
}

async function advance(duration: string): Promise<void> {
  const answer = await rest(api.url, "POST", "/test/clock", { body: { advance: duration } });
  expect(answer.status, answer.text).toBe(200);
}

test("an installation that is never audited", async () => {
  // This fault is there from the start.
  await toFire(["AuditLate"]);
  expect(await prometheus.firing()).toEqual(["RebidAuditLate"]);
  await audit();
  await toEnd(["AuditLate"]);
});

test("a payment processor that refuses its lists", () =>
  during(["AuditIncomplete"], async () => {
    await control(service, "POST", "faults", { name: "no_permission", share: 1, call: "GET /v1/" });
    await audit();
    return async () => {
      await control(service, "DELETE", "faults");
      await audit();
    };
  }));

test("books that cannot be compared with the payment processor's after a restore", () =>
  during(["PayoutsPaused"], async () => {
    await control(service, "POST", "faults", { name: "no_permission", share: 1, call: "GET /v1/" });
    expect((await runScript("reconcile", ["--pause"], { DATA_DIR: directory })).code).toBe(0);
    return async () => {
      await control(service, "DELETE", "faults");
      expect((await runScript("reconcile", ["--apply"], { DATA_DIR: directory })).code).toBe(0);
    };
  }));

test("a wallet that was changed behind the database's guards", () =>
  during(["BooksWrong"], async () => {
    const add = async (cents: number) => {
      await owner.pool.query(`
        ALTER TABLE wallets DISABLE TRIGGER wallets_equal_entries;
        UPDATE wallets SET available_cents = available_cents + ${cents} WHERE user_id = '${buyer.id}';
        ALTER TABLE wallets ENABLE ALWAYS TRIGGER wallets_equal_entries`);
      await audit();
    };
    await add(1);
    return () => add(-1);
  }));

test("a mail server that is away", () =>
  during(["OutsideCallsFailing", "JobsFailed"], async () => {
    await mailbox.stop();
    const askForMail = ({ email }: TestPerson) => rest(api.url, "POST", "/auth/password/forgot", { body: { email } });
    await Promise.all(bidders.map(askForMail));
    const mailJobs = "FROM graphile_worker.jobs WHERE task_identifier = 'sendAccountMail'";
    const reschedule = async (attempts: number, which: string) => {
      const { rowCount } = await owner.pool.query(
        `SELECT graphile_worker.reschedule_jobs(ARRAY[id], attempts => ${attempts}, run_at => now()) ${mailJobs} ${which}`,
      );
      return rowCount;
    };
    // One that has failed 24 times.
    await expect.poll(() => reschedule(24, "AND attempts BETWEEN 1 AND 23 AND locked_at IS NULL LIMIT 1")).toBe(1);
    return async () => {
      mailbox = await startMail(Number(new URL(mailbox.smtpUrl).port));
      // As the page of alerts says.
      const { rows } = await owner.pool.query<{ id: string }>(
        "SELECT id FROM graphile_worker.jobs WHERE attempts >= max_attempts",
      );
      await owner.pool.query(
        `SELECT graphile_worker.reschedule_jobs(ARRAY[${rows[0]?.id}], attempts => 0, run_at => now())`,
      );
      await reschedule(1, "AND locked_at IS NULL");
    };
  }));

test("a receiver of webhooks that answers 500", () =>
  during(["WebhooksFailing"], async () => {
    const endpoint = { url: `${receiver.url}/`, events: ["task.created"] };
    expect((await buyer.post("/webhooks", endpoint)).status).toBe(201);
    const post = () => postTask(buyer, { maxBudgetCents: 100 });
    const arrived = (count: number) => expect.poll(() => receiver.received.length).toBeGreaterThanOrEqual(count);
    await post();
    await arrived(1);
    receiverStatus = 500;
    await post();
    return async () => {
      receiverStatus = 200;
      const attempts = receiver.received.length;
      for (let count = 0; count < attempts; count++) await post();
    };
  }));

test("a lock that bids wait for", async () => {
  await during(["ServerErrors", "SlowResponses", "PoolExhausted"], async () => {
    const task = await postTask(buyer, { maxBudgetCents: 1_000 });
    const locker = await owner.pool.connect();
    await locker.query("BEGIN");
    await locker.query("LOCK TABLE bids IN ACCESS EXCLUSIVE MODE");
    const bid = (bidder: TestPerson) => () => bidder.post(`/tasks/${task.id}/bids`, { priceCents: 900, etaHours: 1 });
    const stops = bidders.flatMap((bidder) => [repeatedly(bid(bidder)), repeatedly(bid(bidder))]);
    return async () => {
      locker.release(true); // The lock ends with its connection.
      await Promise.all(stops.map((stop) => stop()));
    };
  });
  // The process whose connections were all in use said so to Prometheus.
  expect(["RebidProcessDown", "RebidDatabaseUnreachable"].filter((name) => prometheus.fired.has(name))).toEqual([]);
});

test("a worker that dies again and again", async () => {
  expect(await firingOf(["Restarting"])).toEqual([]);
  for (let count = 0; count < 3; count++) {
    await worker.stop("SIGKILL");
    worker = await startRole("worker");
    const starts = 'changes(process_start_time_seconds{process="worker"}[1h])';
    await expect.poll(() => prometheus.valueOf(starts)).toBe(count + 1);
  }
  // Its end, after half an hour at this pace, is awaited with that of all.
  await toFire(["Restarting"]);
});

test("a worker that is too busy to take anything up", () =>
  during(["EventLoopBlocked"], async () =>
    repeatedly(async () => {
      worker.child.kill("SIGSTOP");
      await sleep(700);
      worker.child.kill("SIGCONT");
      await sleep(300);
    }),
  ));

test("a worker that is suspended", async () => {
  await deliveredTask(buyer, bidders[0] ?? buyer, { maxBudgetCents: 1_000, priceCents: 900 });
  const topup = await openTopup(service, buyer);
  await during(
    [
      ...["ProcessDown", "JobsLate", "DeadlinesOverdue", "ProcessorEventsLate"],
      ...["PayoutsStuck", "EventLogLate", "WebhooksLate"],
    ],
    async () => {
      worker.child.kill("SIGSTOP");
      await pay(service, topup);
      await requestPayout(payee, 1_000);
      await postTask(buyer, { maxBudgetCents: 100 });
      await advance("49h");
      return async () => {
        worker.child.kill("SIGCONT");
      };
    },
  );
});

test("a payout that the platform's balance does not cover", () =>
  during(["PayoutsUnfunded"], async () => {
    const move = (amountCents: number) => control(service, "POST", "balance", { amountCents });
    await move(-10 * MOST_CENTS);
    await requestPayout(payee, 1_000);
    const states = async () => (await owner.pool.query("SELECT state FROM payouts WHERE state = 'unfunded'")).rowCount;
    await expect.poll(states).toBe(1);
    await advance("25h");
    return async () => {
      await move(10 * MOST_CENTS);
      await advance("10m");
    };
  }));

test("a caller who asks too often, so that the panel of refusals shows one", async () => {
  const signUp = () => rest(api.url, "POST", "/auth/signup", { body: { email: `${randomUUID()}@example.com` } });
  await expect.poll(async () => (await signUp()).status).toBe(429);
});

test("a database that does not start", () =>
  during(["DatabaseUnreachable"], async () => {
    const cluster = join(directory, "postgres");
    const settings = join(cluster, "postgresql.conf");
    await rename(settings, `${settings}.away`);
    const [pid = ""] = (await readFile(join(cluster, "postmaster.pid"), "utf8")).split("\n");
    process.kill(Number(pid), "SIGINT");
    return () => rename(`${settings}.away`, settings);
  }));

test("at the end nothing fires, every alert has fired, and every panel of the dashboard has shown something", async () => {
  await expect.poll(() => prometheus.firing(), { timeout: 120_000 }).toEqual([]);
  expect([...prometheus.fired].sort()).toEqual(
    alertsAt()
      .map(({ name }) => name)
      .sort(),
  );
  for (const { title, expression } of rows.flatMap(({ panels }) => panels)) {
    const asked = expression.replaceAll("$job", "rebid").replaceAll("$__rate_interval", "10s");
    expect(await prometheus.hadValue(asked), title).toBe(true);
  }
});
