import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import pg from "pg";
import type { BenchEnvironment } from "./bench.ts";
import { startProcess } from "./processes.ts";

export const nowMs = () => performance.timeOrigin + performance.now();
export const setupFile = (name: string) => new URL(`${name}.ts`, import.meta.url).pathname;

export interface Stage {
  client: pg.Client;
  receiver: ChildProcess;
  worker: { current: ChildProcess | null; start(): Promise<void> };
  okUrl(index: number, delayMs: number): string;
  silentUrl: string;
  failingUrl: string;
  /** Replaces all subscribed endpoints with these; nothing is expected to arrive at `bad` ones. */
  register(healthy: string[], bad?: string[]): Promise<void>;
  expected: number;
  memory: Memory[];
}

interface Memory {
  usedBytes: number;
  rssBytes: number;
}

/** Starts a receiver for all endpoints; the worker starts when it is first needed. */
export async function setUpStage(environment: BenchEnvironment): Promise<Stage> {
  const { databaseUrl, onEnd } = environment;
  const [port, silentPort] = [await getPort(), await getPort()];
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  onEnd(() => client.end());
  await client.query(`
    WITH owner AS (
      INSERT INTO users (email, password_hash, display_name) VALUES ('owner@example.com', '', 'Owner') RETURNING id)
    INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags)
    SELECT id, 'Translate a page', 'From English to Finnish, in plain words.', 10000, '{translation}' FROM owner`);
  const receiver = await startProcess(environment, setupFile("webhookReceiver"), {
    environment: { PORT: String(port), SILENT_PORT: String(silentPort) },
    ready: /^ready$/,
  });
  const stage: Stage = {
    client,
    receiver,
    worker: {
      current: null,
      async start() {
        stage.worker.current ??= await startProcess(environment, setupFile("webhookWorker"), {
          environment: { DATABASE_URL: databaseUrl },
          nodeOptions: ["--expose-gc"],
          ready: /^ready$/,
        });
      },
    },
    // Every endpoint is an origin of its own: 127.0.0.1 has 16 million neighbours.
    okUrl: (index, delayMs) => `http://127.1.${index >> 8}.${index & 255}:${port}/ok/${delayMs}`,
    silentUrl: `http://127.2.0.1:${silentPort}/`,
    failingUrl: `http://127.2.0.2:${port}/fails`,
    async register(healthy, bad = []) {
      await client.query("UPDATE webhook_endpoints SET deleted_at = now() WHERE deleted_at IS NULL");
      await client.query(
        // Each has an owner of its own, because those of one owner share a limit.
        `WITH endpoints AS (SELECT url, uuid_v7() AS owner_id FROM unnest($1::text[]) AS url),
         owners AS (
           INSERT INTO users (id, email, password_hash, display_name)
           SELECT owner_id, owner_id || '@example.com', '', 'Owner' FROM endpoints),
         hosts AS (
           INSERT INTO webhook_hosts (host) SELECT DISTINCT split_part(url, '/', 3) FROM endpoints ON CONFLICT DO NOTHING)
         INSERT INTO webhook_endpoints (user_id, url, host, events, signing_secret)
         SELECT owner_id, url, split_part(url, '/', 3), '{task.created}', 'whsec_bench' FROM endpoints`,
        [[...healthy, ...bad]],
      );
      stage.expected = healthy.length;
    },
    expected: 0,
    memory: [],
  };
  return stage;
}

/** Commits one event, as posting a task does, and returns its id. */
export async function commitEvent(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ id: string }>(`
    INSERT INTO events (type, task_id, data)
    SELECT 'task.created', id, jsonb_build_object('task', to_jsonb(tasks)) FROM tasks RETURNING id`);
  return rows[0]?.id ?? "";
}

async function ask<Answer>(child: ChildProcess, message: string): Promise<Answer> {
  const answer = once(child, "message");
  child.send(message);
  return (await answer)[0];
}

/** Waits for `count` arrivals and returns them. Duplicates would show as too many. */
export async function takeArrivals(stage: Stage, count: number): Promise<[string, number][]> {
  const deadline = nowMs() + 180_000;
  while ((await ask<number>(stage.receiver, "count")) < count) {
    if (nowMs() > deadline) throw new Error("not everything arrived");
    await sleep(20);
  }
  const arrivals = await ask<[string, number][]>(stage.receiver, "take");
  if (arrivals.length !== count) throw new Error(`${arrivals.length} arrivals instead of ${count}`);
  if (stage.worker.current) stage.memory.push(await ask<Memory>(stage.worker.current, "memory"));
  return arrivals;
}

/** Milliseconds from an event's commit to its arrival at each endpoint, at `eventsPerSecond`. */
export async function measurePaced(stage: Stage, events: number, eventsPerSecond: number) {
  const committedMs = new Map<string, number>();
  const startedMs = nowMs();
  for (let event = 0; event < events; event++) {
    await sleep(Math.max(0, startedMs + (event * 1000) / eventsPerSecond - nowMs()));
    const id = await commitEvent(stage.client);
    committedMs.set(id, nowMs());
  }
  const arrivals = await takeArrivals(stage, events * stage.expected);
  const delays = arrivals.map(([id, atMs]) => atMs - (committedMs.get(id) ?? Number.NaN)).sort((a, b) => a - b);
  const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? Number.NaN;
  return { first: at(0), p50: at(0.5), p99: at(0.99), last: at(1) };
}
