import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { pino } from "pino";
import { startRunner } from "../../../server/jobs/runner.ts";
import { planDigests } from "../../../server/notifications/digests.ts";
import type { Services } from "../../../server/services.ts";
import { openDatabase } from "../../../server/store/database.ts";
import { jobPool } from "../../../server/store/poolSettings.ts";
import { addJob } from "../../../server/store/queue.ts";
import type { Bench } from "../setup/bench.ts";
import { cpuTimeOf } from "../setup/cpuTime.ts";

const FOLLOWERS = 50_000;
const LIMIT_MS = 10_000;
const DEADLINES = 40;
const DEADLINE_LIMIT_MS = 1_000;

/**
 * 50,000 people who follow new tasks daily, and one new task: how long it takes until each has a mail that waits to be sent, and how
 * late deadlines are meanwhile, while those mails are on their way.
 */
const bench: Bench = async ({ databaseUrl, log, onEnd }) => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  onEnd(() => client.end());
  await seed(client);
  const database = openDatabase(databaseUrl, jobPool);
  onEnd(() => database.close());
  const now = new Date();
  // Only what the planning and the lanes of a worker need.
  const services = {
    database,
    clock: { now: () => now },
    mail: {},
    log: pino({ level: "silent" }),
  } as unknown as Services;

  const done = new Map<string, () => void>();
  const deadlines = await startRunner(services, {
    taskList: {
      expireTask: async (payload) => done.get((payload as { taskId: string }).taskId)?.(),
    },
    crontab: "",
    concurrency: 8,
  });
  onEnd(deadlines.stop);
  let sent = 0;
  const messages = await startRunner(services, {
    taskList: {
      sendDigests: async (payload) => {
        for (const _ of (payload as { mailIds: string[] }).mailIds) {
          sent++;
          await sleep(5); // as a mail server nearby takes
        }
      },
    },
    crontab: "",
    concurrency: 4,
  });
  onEnd(messages.stop);

  // Both lanes have their connections, so that what these use is counted.
  await addJob(database, "expireTask", { taskId: crypto.randomUUID() });
  const readTime = cpuTimeOf(process.pid, database.pool);
  const [startedMs, usedMs] = [performance.now(), await readTime()];
  let plannedMs = Number.NaN;
  let cpuMs = Number.NaN;
  const planning = planDigests(services).then(async () => {
    plannedMs = performance.now() - startedMs;
    cpuMs = (await readTime()) - usedMs;
  });
  const delays: number[] = [];
  for (let deadline = 0; deadline < DEADLINES; deadline++) {
    const taskId = crypto.randomUUID();
    const isDone = new Promise<void>((resolve) => void done.set(taskId, resolve));
    const addedMs = performance.now();
    await addJob(database, "expireTask", { taskId });
    await isDone;
    delays.push(performance.now() - addedMs);
    await sleep(50);
  }
  await planning;
  const { rows } = await client.query("SELECT count(*)::int AS count FROM notification_mails WHERE purpose = 'digest'");
  if (rows[0].count !== FOLLOWERS) throw new Error(`${rows[0].count} digests were planned`);
  const latest = Math.max(...delays);
  log(
    `planned after ${plannedMs.toFixed(0)} ms, with ${cpuMs.toFixed(0)} ms of CPU time; a deadline waited ${latest.toFixed(0)} ms at most; ${sent} sent meanwhile`,
  );
  return [
    {
      ...{ what: "one new task, 50,000 who follow daily: CPU time until all mails are planned", unit: "ms" },
      ...{ ours: cpuMs, baseline: LIMIT_MS, against: "the limit", atMost: 1 },
    },
    {
      ...{ what: "the latest of 40 deadlines meanwhile", unit: "ms" },
      ...{ ours: latest, baseline: DEADLINE_LIMIT_MS, against: "the limit", atMost: 1 },
    },
  ];
};
export default bench;

async function seed(client: pg.Client): Promise<void> {
  await client.query(
    `INSERT INTO users (email, password_hash, display_name, email_verified_at)
     SELECT 'follower' || n || '@example.com', '', 'Follower', now() - interval '9 days' FROM generate_series(1, $1) AS n`,
    [FOLLOWERS],
  );
  await client.query(`
    INSERT INTO notification_preferences (user_id, kind, mail, updated_at)
    SELECT id, 'marketplace', 'daily', now() - interval '9 days' FROM users`);
  // Within the day that the latest daily mail is about.
  await client.query(`
    INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
    SELECT id, 'New', 'New.', 100, '{}', date_trunc('day', now() - interval '8 hours') FROM users LIMIT 1`);
  await client.query("ANALYZE");
}
