import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "../setup/bench.ts";
import type { MixedLoad, MixedLoadResult } from "../setup/mixedLoad.ts";
import { startMixedLoadGenerator } from "../setup/processes.ts";
import { startRebid } from "../setup/rebid.ts";
import { seedTasks } from "../setup/seedTasks.ts";

const TASKS = 20_000;
/** So many that the service's own queue fills, and not those of single callers. */
const BUYERS = 400;
/** Enough requests under way to keep both processes busy, and few enough that none waits for long. */
const CONNECTIONS = 32;
const MEASURED_SECONDS = 8;
/** One pause of the machine of 100 ms, in 10 s, would be the slowest hundredth by itself. */
const LATENCY_SECONDS = 30;
/** `OVERLOAD_SECONDS=5 npm run bench overload` is a shorter run. */
const OVERLOAD_SECONDS = Number(process.env.OVERLOAD_SECONDS ?? 60);
const RECOVERY_SECONDS = 5;

/**
 * Twice the rate that the service sustains, for a minute: every request is answered, the excess with 503, memory stays
 * flat, and 5 s later latency is as before.
 */
const bench: Bench = async (environment) => {
  const keys = await seedTasks(environment, { tasks: TASKS, buyers: BUYERS });
  const port = await startRebid(environment);
  const generator = await startMixedLoadGenerator(environment);
  const send = (load: Pick<MixedLoad, "rate" | "connections" | "seconds">) =>
    generator.run({ port, requests: mixedRequests(keys), ...load });
  const log = (what: string, result: MixedLoadResult) => {
    const { sent, lost, statuses, medianMs, p99Ms } = result;
    const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
    const figures = `p50 ${medianMs.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms of the successful ones`;
    environment.log(`${what}: ${sent} sent, ${counts.join(", ")}, ${lost} lost; ${figures}`);
  };

  await send({ connections: CONNECTIONS, seconds: MEASURED_SECONDS }); // warms up
  const sustained = await send({ connections: CONNECTIONS, seconds: MEASURED_SECONDS });
  log("sustainable", sustained);
  const rate = sustained.successesPerSecond;
  const before = await send({ rate: rate / 2, seconds: LATENCY_SECONDS });
  log("half of that, before", before);
  const memoryBefore = await residentBytes(port);
  const during = await send({ rate: rate * 2, seconds: OVERLOAD_SECONDS });
  log("twice that", during);
  await sleep(RECOVERY_SECONDS * 1000);
  const memoryAfter = await residentBytes(port);
  const after = await send({ rate: rate / 2, seconds: LATENCY_SECONDS });
  log(`half of that, ${RECOVERY_SECONDS} s later`, after);

  const answered = Object.values(during.statuses).reduce((sum, count) => sum + count, 0);
  const asIntended = Object.entries(during.statuses)
    .filter(([status]) => /^(20\d|503)$/.test(status))
    .reduce((sum, [, count]) => sum + count, 0);
  const megabytes = (bytes: number) => bytes / 1e6;
  return [
    { what: "Requests answered", unit: "", ours: answered, baseline: during.sent, against: "sent", atLeast: 1 },
    { what: "Answers that are 2xx or 503", unit: "", ours: asIntended, baseline: answered, against: "all", atLeast: 1 },
    {
      ...{ what: "Successes under overload", unit: "requests/s", ours: during.successesPerSecond },
      ...{ baseline: rate, against: "sustainable", atLeast: 0.5 },
    },
    {
      ...{ what: "Resident memory after the overload", unit: "MB", ours: megabytes(memoryAfter) },
      ...{ baseline: megabytes(memoryBefore), against: "before", atMost: 1.5 },
    },
    {
      ...{ what: "p99 at half the sustainable rate, after", unit: "ms", ours: after.p99Ms },
      ...{ baseline: before.p99Ms, against: "before", atMost: 2 },
    },
  ];
};
export default bench;

/** Nine reads and one new task per buyer, as of people who look around and agents that poll. */
function mixedRequests(keys: readonly string[]): MixedLoad["requests"] {
  const task = JSON.stringify({
    title: "Translate a page",
    description: "From English to Finnish, in plain words.",
    maxBudgetCents: 100,
    tags: ["translation"],
  });
  const paths = ["/tasks", "/wallet", "/tasks?tag=tag7", "/bids", "/tasks?limit=20", "/auth/me"];
  paths.push("/tasks?query=page%2012", "/wallet/ledger?limit=20", "/me/tasks?limit=20");
  const kinds = [
    ...paths.map((path) => ({ method: "GET" as const, path, headers: {} })),
    { method: "POST" as const, path: "/tasks", headers: { "content-type": "application/json" }, body: task },
  ];
  // Neighbours differ in kind and in buyer, and after ten rounds every buyer has sent every kind.
  return Array.from({ length: keys.length * kinds.length }, (_, index) => {
    const kind = kinds[index % kinds.length];
    const key = keys[(index + Math.floor(index / keys.length)) % keys.length];
    if (kind === undefined) throw new Error("there are no requests");
    return { ...kind, headers: { ...kind.headers, authorization: `Bearer ${key}` } };
  });
}

/** Reads the service's own figure. */
async function residentBytes(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}
