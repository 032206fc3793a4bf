/**
 * What `npm run soak` looks at while the crash test runs: whether memory, open files, connections, tables and latencies stay
 * flat.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Kill, KillerSettings } from "./killer.ts";
import type { Load } from "./load.ts";
import { drawSoak } from "./soakPicture.ts";

const SAMPLE_MS = 5_000;
const POSTGRES_KILL_SECONDS = 120;
/** Of a process' life: caches fill, and code is compiled. */
const WARM_UP_SHARE = 0.35;
/** How much the second half of what is judged may be above the first. */
const MAX_GROWTH = 1.2;
/** Tables whose rows change or go again and again. They grow with use, so their bytes a row are what must stay. */
const busyTables = ["tasks", "wallets", "idempotency_keys", "graphile_worker._private_jobs"] as const;

/** Postgres every two minutes, and each process once, so that both live long enough to show what they gather. */
export function soakPlan(seconds: number): NonNullable<KillerSettings["plan"]> {
  const count = Math.floor((seconds - 1) / POSTGRES_KILL_SECONDS);
  return [
    ...Array.from({ length: count }, (_, index) => ({
      afterSeconds: (index + 1) * POSTGRES_KILL_SECONDS,
      target: "postgres" as const,
    })),
    { afterSeconds: seconds * 0.27, target: "api" as const },
    { afterSeconds: seconds * 0.73, target: "worker" as const },
  ].sort((one, other) => one.afterSeconds - other.afterSeconds);
}

/** One figure over time. */
export interface Series {
  /** With its unit, such as `memory of the api, MB`. */
  name: string;
  points: { at: number; value: number }[];
  /** Where one life of what is measured ends; growth is judged within the longest. */
  breaks: number[];
}

interface Watched {
  load: Load;
  kills: readonly Kill[];
  processes: ReadonlyMap<"api" | "worker", number>;
  databaseUrl: string;
}

/** Starts to look. `end` stops, writes the picture, and returns what was not flat. */
export function startSoak(watched: Watched): { end(file: string): Promise<string[]> } {
  const series = new Map<string, Series>();
  const stopping = new AbortController();
  const loop = sampleUntil(stopping.signal, watched, (name, value) => {
    const one = series.get(name) ?? { name, points: [], breaks: [] };
    series.set(name, one);
    one.points.push({ at: Date.now(), value });
  });
  return {
    async end(file) {
      stopping.abort();
      await loop;
      const all = [...series.values(), ...latencies(watched.load)];
      for (const one of all) one.breaks = breaksOf(one.name, watched.kills);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, drawSoak(all, watched.kills));
      console.log(`\nthe picture is in ${file}`);
      return all.flatMap(judge);
    },
  };
}

/** A process begins anew when it is killed, and connections to Postgres when that is. */
function breaksOf(name: string, kills: readonly Kill[]): number[] {
  const target = ["api", "worker"].find((process) => name.includes(`of the ${process}`));
  return kills.filter((kill) => kill.target === target).map(({ at }) => at);
}

async function sampleUntil(signal: AbortSignal, watched: Watched, add: (name: string, value: number) => void) {
  while (!signal.aborted) {
    for (const [name, pid] of watched.processes) {
      const [megabytes, files] = await Promise.all([residentMegabytes(pid), openFiles(pid)]);
      if (megabytes !== null) add(`memory of the ${name}, MB`, megabytes);
      if (files !== null) add(`open files of the ${name}`, files);
    }
    // Postgres may be down at the moment.
    const figures = await databaseFigures(watched.databaseUrl).catch(() => null);
    for (const [name, value] of Object.entries(figures ?? {})) add(name, value);
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function residentMegabytes(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1_000;
}

const openFiles = (pid: number): Promise<number | null> =>
  readdir(`/proc/${pid}/fd`).then(
    (names) => names.length,
    () => null,
  );

async function databaseFigures(url: string): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const perRow = busyTables.map(
      (table) =>
        `pg_total_relation_size('${table}') / greatest((SELECT count(*) FROM ${table}), 1000)::float8 AS "bytes a row of ${table}"`,
    );
    const { rows } = await client.query<Record<string, number>>(`
      SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'rebid%')::int AS connections,
        ${perRow.join(", ")}`);
    return rows[0] ?? {};
  } finally {
    await client.end();
  }
}

const LATENCY_WINDOW_MS = 15_000;

/** Of requests with an answer, in windows of 15 s. Those that a kill cut are not slow but lost. */
function latencies(load: Load): Series[] {
  const windows = new Map<number, number[]>();
  for (const { startedAt, endedAt, outcome } of load.requests) {
    if (outcome !== "known") continue;
    const at = Math.floor(startedAt / LATENCY_WINDOW_MS) * LATENCY_WINDOW_MS;
    windows.set(at, [...(windows.get(at) ?? []), endedAt - startedAt]);
  }
  const percentile = (share: number) =>
    [...windows].map(([at, values]) => ({
      at,
      value: values.sort((one, other) => one - other)[Math.floor(values.length * share)] ?? 0,
    }));
  return [
    { name: "half of the requests are answered within, ms", points: percentile(0.5), breaks: [] },
    { name: "9 of 10 requests are answered within, ms", points: percentile(0.9), breaks: [] },
  ];
}

/** Compares the halves of the longest life, after its warm-up, by their medians. */
function judge({ name, points, breaks }: Series): string[] {
  const life = longestLife(points, breaks);
  const judged = life.slice(Math.floor(life.length * WARM_UP_SHARE));
  const middle = Math.floor(judged.length / 2);
  const [before, after] = [median(judged.slice(0, middle)), median(judged.slice(middle))];
  console.log(`${name}: ${before.toFixed(1)}, later ${after.toFixed(1)}`);
  if (judged.length < 8) return [`${name}: too few samples to judge`];
  return after > before * MAX_GROWTH ? [`not flat: ${name} went from ${before.toFixed(1)} to ${after.toFixed(1)}`] : [];
}

function longestLife(points: Series["points"], breaks: readonly number[]): Series["points"] {
  const edges = [0, ...breaks, Number.POSITIVE_INFINITY];
  const lives = edges.slice(1).map((end, index) => points.filter(({ at }) => at > (edges[index] ?? 0) && at <= end));
  return lives.reduce((longest, life) => (life.length > longest.length ? life : longest), []);
}

function median(points: Series["points"]): number {
  const sorted = points.map(({ value }) => value).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
