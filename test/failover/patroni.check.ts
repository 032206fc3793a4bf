import { chown, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import getPort from "get-port";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audit } from "../../server/audit/audit.ts";
import { stripeProcessor } from "../../server/gateways/stripeProcessor.ts";
import { openDatabase } from "../../server/store/database.ts";
import { Load } from "../crash/load.ts";
import { randomFrom } from "../crash/random.ts";
import { findDifferences, findUnsettled, setFee } from "../crash/verify.ts";
import { idOfPostgres } from "./cluster.ts";
import { type HeldCommit, holdCommit } from "./heldCommit.ts";
import { Installation } from "./installation.ts";
import { type Machine, Network } from "./network.ts";
import { Observer } from "./observer.ts";
import { PatroniCluster } from "./patroni.ts";

const CLIENTS = 16;
/** It only ends what hangs. */
const RECOVERY_LIMIT_MS = 300_000;

/** What is done to the installation, and how long tasks may go unposted. */
interface Scenario {
  name: string;
  aimSeconds: number;
  /** Whether it is of the few that CI runs. */
  isQuick?: true;
  /** Whether answers to clients are certain to be lost. */
  losesAnswers?: true;
  /** Returns what undoes it. */
  strike(): Promise<() => Promise<unknown>>;
}

const all = process.env.FAILOVER_SCENARIOS === "all";
const network = new Network();
let directory: string;
let cluster: PatroniCluster;
let installation: Installation;
let databaseUrl: string;
let observer: Observer;
let load: Load;
let running: Promise<unknown>;
const stops: (() => Promise<unknown>)[] = [];

/** Holds a commit whose client is the observer, or the jobs. */
const holdPost = () => holdCommit(cluster, { rows: `tasks WHERE buyer_id = '${observer.id}'`, processes: /^api/ });
const holdJob = () =>
  holdCommit(cluster, {
    rows: "tasks WHERE status = 'accepted' AND accepted_at > now() - interval '1 minute'",
    processes: /^worker/,
  });

/** What can happen to the primary while a commit is held there. Its machine is a standby again at the end. */
const onPrimary =
  (strike: (machine: Machine) => Promise<unknown>, undo: (machine: Machine) => Promise<unknown>) => () =>
    whileHeld(holdPost, async () => {
      const { primary } = await cluster.pair();
      await strike(primary);
      return () => undo(primary);
    });

const onHolder = (hold: () => Promise<HeldCommit>) => () =>
  whileHeld(hold, async ({ process }) => installation.kill(process));

async function whileHeld<T>(hold: () => Promise<HeldCommit>, strike: (held: HeldCommit) => Promise<T>): Promise<T> {
  const held = await hold();
  return strike(held).finally(held.release);
}

const scenarios: Scenario[] = [
  {
    ...{ name: "a planned switch", aimSeconds: 5, isQuick: true },
    strike: async () => {
      await cluster.switchOver();
      return async () => {};
    },
  },
  {
    ...{ name: "kill -9 of the primary", aimSeconds: 15, isQuick: true, losesAnswers: true },
    strike: onPrimary(
      (machine) => machine.signal("SIGKILL"),
      (machine) => cluster.start(machine),
    ),
  },
  {
    ...{ name: "a primary that is suspended", aimSeconds: 15, losesAnswers: true },
    strike: onPrimary(
      (machine) => machine.signal("SIGSTOP"),
      (machine) => machine.signal("SIGCONT"),
    ),
  },
  {
    ...{ name: "a primary that is cut off", aimSeconds: 15, losesAnswers: true },
    strike: onPrimary(
      (machine) => machine.cut(),
      (machine) => machine.reconnect(),
    ),
  },
  { name: "kill -9 of an api process", aimSeconds: 15, losesAnswers: true, strike: onHolder(holdPost) },
  { name: "kill -9 of a worker in a job", aimSeconds: 15, strike: onHolder(holdJob) },
];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rebid-patroni-"));
  await chown(directory, await idOfPostgres("-u"), await idOfPostgres("-g"));
  stops.push(() => network.close());
  await network.open(3);
  cluster = new PatroniCluster(network, directory);
  stops.push(() => cluster.close());
  await cluster.open();
  const [databasePort, balancer, ...apis] = await Promise.all(Array.from({ length: 4 }, () => getPort()));
  if (databasePort === undefined || balancer === undefined) throw new Error("there is no free port");
  databaseUrl = cluster.url(databasePort);
  installation = new Installation({
    ...{ directory, databaseUrl, databaseProxy: cluster.proxy(databasePort), ports: { balancer, apis } },
  });
  stops.push(() => installation.close());
  await installation.startProxies();
  await installation.start();
  observer = new Observer(installation.url);
  await observer.open(installation.processorUrl);
  stops.push(() => observer.close());
  load = new Load(
    { api: installation.url, processor: installation.processorUrl, database: databaseUrl },
    randomFrom(1),
  );
  const moderator = await load.signUpModerator();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("UPDATE users SET role = 'moderator' WHERE id = $1", [moderator]);
  await setFee(client);
  await client.end();
  running = Promise.all([load.run(CLIENTS), observer.post()]);
}, 600_000);
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
}, 240_000);

/** Answers that were lost, as the clients noticed when they repeated the request. */
const lostAnswers = () => load.replayed.fault + observer.successes.filter(({ isReplayed }) => isReplayed).length;

/** The longest time between two tasks that were posted, from a moment on. */
function gapSince(moment: number): number {
  const times = observer.successes.map(({ at }) => at).sort((a, b) => a - b);
  const last = times.findLast((at) => at <= moment) ?? moment;
  const after = [last, ...times.filter((at) => at > moment)];
  return Math.max(...after.slice(1).map((at, index) => at - (after[index] ?? at)));
}

/** Says how long no task was posted, and how many answers were lost. */
async function perform({ strike }: Scenario) {
  await cluster.untilComplete();
  const tasks = observer.successes.length;
  await expect.poll(() => observer.successes.length, { timeout: RECOVERY_LIMIT_MS }).toBeGreaterThan(tasks + 20);
  const before = { lost: lostAnswers(), unavailable: observer.unavailable };
  const moment = Date.now();
  const undo = await strike();
  // Tasks that are sent from now on are posted, and not only those that were.
  const isOver = () => observer.successes.filter(({ sentAt }) => sentAt > moment + 15_000).length > 20;
  await expect.poll(isOver, { timeout: RECOVERY_LIMIT_MS }).toBe(true);
  const seconds = gapSince(moment) / 1000;
  await undo();
  return { seconds, lost: lostAnswers() - before.lost, unavailable: observer.unavailable - before.unavailable };
}

describe("two api and two worker processes on Patroni", () => {
  test.for(scenarios.filter(({ isQuick }) => all || isQuick))("$name", { timeout: 1_200_000 }, async (scenario) => {
    const { seconds, lost, unavailable } = await perform(scenario);
    console.log(
      `${scenario.name}: no task was posted for ${seconds.toFixed(1)} s (aim: ${scenario.aimSeconds} s); ${lost} commits ` +
        `whose answer was lost, ${unavailable} answers of 503 with Retry-After`,
    );
    expect(observer.surprises).toEqual([]);
    if (scenario.losesAnswers) expect(lost).toBeGreaterThan(0);
  });

  test("nothing acknowledged is lost, nothing is doubled, and the books, the event log and the webhooks are complete", {
    timeout: 900_000,
  }, async () => {
    await cluster.untilComplete();
    load.stop();
    await observer.stop();
    await running;
    // First, because what a client gave up looks like something that was done twice.
    expect(load.surprises).toEqual([]);
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const unsettled = () => findUnsettled(client, installation.processorFile);
      await expect.poll(unsettled, { timeout: RECOVERY_LIMIT_MS, interval: 500 }).toEqual([]);
      const acknowledged = [...load.acknowledged, ...observer.acknowledged];
      expect(await findDifferences(client, acknowledged, installation.processorFile)).toEqual([]);
    } finally {
      await client.end();
    }
    const { secretKey, webhookSecret } = installation.keys;
    const database = openDatabase(databaseUrl, { poolSize: 2 });
    const processor = stripeProcessor({
      secretKey,
      webhookSecrets: [webhookSecret],
      apiBase: installation.processorUrl,
    });
    const report = await audit({ database, processor }, { since: null }).finally(database.close);
    expect([report.notCompared, report.discrepancies]).toEqual([null, []]);
    const tasks = observer.tasks.sort();
    const untold = () => tasks.filter((task) => !observer.told.has(task)).length;
    await expect.poll(untold, { timeout: RECOVERY_LIMIT_MS }).toBe(0);
    // The log has others' tasks as well.
    const followed = () => observer.followed.filter((task) => tasks.includes(task)).sort();
    await expect.poll(() => followed().length, { timeout: RECOVERY_LIMIT_MS }).toBeGreaterThanOrEqual(tasks.length);
    expect(followed()).toEqual(tasks);
    console.log(
      `${load.acknowledged.length + observer.acknowledged.length} acknowledgements: nothing is lost, nothing is doubled`,
    );
  });
});
