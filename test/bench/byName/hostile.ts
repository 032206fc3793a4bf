import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { openDatabase } from "../../../server/store/database.ts";
import { type Operation, readContract } from "../../hostile/document.ts";
import type { Entries } from "../../hostile/inputs.ts";
import { buildRequest, hostileSpecs, plausibleSpecs, type Spec } from "../../hostile/requests.ts";
import { startService } from "../../hostile/service.ts";
import { Known } from "../../hostile/values.ts";
import { Lane, sendRaw } from "../../hostile/wire.ts";
import { goodCallers, World } from "../../hostile/world.ts";
import type { Bench, BenchEnvironment, Measurement } from "../setup/bench.ts";
import { cpuTimeOf } from "../setup/cpuTime.ts";
import { writeLargeRows } from "../setup/largeRows.ts";

const MAX_MS = 50;
const MAX_BYTES = 1_000_000;
const MAX_P99_MS = 200;
const BATCH = 20;

/** Inputs that are drawn for each operation; half as many changes to the costliest follow. */
const SAMPLES = Number(process.env.HOSTILE_SAMPLES ?? 60);
/** Where an operation is slow, its search ends earlier. */
const SECONDS_PER_OPERATION = SAMPLES / 20;
/** The costliest inputs are measured this often. */
const REPEATS = 5;
const FINALISTS = 3;

/** So many single calls, and so many batches. */
const FLOODED = 4;
const FLOOD_SECONDS = 5;
const CALLS_PER_SECOND = 20;

interface Cost {
  spec: Spec;
  ms: number;
  bytes: number;
  status: number;
}

interface Costliest {
  name: string;
  byTime: Cost;
  bySize: Cost;
  /** Uploads and the hashing of passwords are costly on purpose. */
  isLimited: boolean;
  calls: number;
}

/**
 * Looks for the costliest input of each operation, among records of the largest size that people could leave behind, and
 * prints CPU time (the service's and the database's) and the bytes of the response, then floods the service with
 * them and measures what others notice. `HOSTILE_SAMPLES=1000 npm run bench hostile` searches longer.
 */
const bench: Bench = async (environment) => {
  const { log } = environment;
  const stage = await prepare(environment);
  const found: Costliest[] = [];
  for (const operation of stage.operations) {
    const one = await findCostliest(stage, operation);
    log(`searched ${one.name}: ${one.byTime.ms.toFixed(1)} ms, ${one.bySize.bytes.toLocaleString("en")} bytes`);
    found.push(one);
  }
  for (const operation of stage.operations) found.push(...(await measureBatch(stage, operation, found)));
  found.sort((a, b) => b.byTime.ms - a.byTime.ms);

  log(
    `operation                    limit ${MAX_MS} ms  status    limit ${MAX_BYTES / 1e6} MB  status  costliest input, largest response`,
  );
  for (const { name, byTime, bySize, isLimited } of found) {
    const time = `${byTime.ms.toFixed(1).padStart(8)} ms  ${byTime.status}`;
    const size = `${bySize.bytes.toLocaleString("en").padStart(12)} B  ${bySize.status}`;
    log(
      `${name.padEnd(30)} ${time} ${size}  ${isLimited ? "" : "(no limit) "}${describe(byTime.spec)} | ${describe(bySize.spec)}`,
    );
  }
  const limited = found.filter(({ isLimited }) => isLimited);
  const slowest = maxOf(limited, ({ byTime, calls }) => byTime.ms / calls);
  const largest = maxOf(limited, ({ bySize, calls }) => bySize.bytes / calls);
  return [
    limit(`CPU time of a call: ${slowest.what}`, "ms", slowest.figure, MAX_MS),
    limit(`response of a call: ${largest.what}`, "bytes", largest.figure, MAX_BYTES),
    ...(await flood(
      stage,
      [1, BATCH].flatMap((size) => limited.filter(({ calls }) => calls === size).slice(0, FLOODED)),
      log,
    )),
  ];
};
export default bench;

function limit(what: string, unit: string, ours: number, atMost: number): Measurement {
  return { what, unit, ours, baseline: atMost, against: "the limit", atMost: 1 };
}

function maxOf(found: readonly Costliest[], figureOf: (one: Costliest) => number) {
  const [first] = found.toSorted((a, b) => figureOf(b) - figureOf(a));
  if (first === undefined) throw new Error("there are no operations");
  return { what: first.name, figure: figureOf(first) };
}

type Stage = Awaited<ReturnType<typeof prepare>>;

/** The service in a process of its own, with large rows for the callers of the hostile requests. */
async function prepare({ databaseUrl, directory, log, onEnd }: BenchEnvironment) {
  const service = await startService(databaseUrl, directory);
  onEnd(service.stop);
  const database = openDatabase(databaseUrl, { poolSize: 4 });
  onEnd(database.close);
  const world = await World.create(service.url, database);
  log("writing large rows");
  const { buyer, bidder } = world.userIds();
  const { taskId, bidId, disputeId, webhookId } = await writeLargeRows(database.pool, {
    buyerId: buyer,
    bidderId: bidder,
  });
  world.learn({
    task: { id: taskId, status: "large" },
    bid: { id: bidId, status: "large" },
    dispute: { id: disputeId, status: "large" },
    webhook: { id: webhookId, status: "large" },
  });
  const document: unknown = await (await fetch(`${service.url}/openapi.json`)).json();
  // What only reads comes first: some of the large records do not outlive the others.
  const operations = readContract(document).operations.toSorted((a, b) => rank(a) - rank(b));
  const lane = new Lane(service.port, 120_000);
  onEnd(async () => lane.close());
  const readMs = cpuTimeOf(service.child.pid ?? 0, database.pool);
  const measure = async (spec: Spec): Promise<Cost> => {
    const { bytes } = buildRequest(spec, world);
    const before = await readMs();
    const outcome = await lane.send(bytes, false);
    const ms = (await readMs()) - before;
    if (outcome.kind !== "answered") return { spec, ms, bytes: 0, status: 0 };
    if (outcome.response.status === 401) await world.renew(spec.caller);
    return { spec, ms, bytes: outcome.response.body.length, status: outcome.response.status };
  };
  return { operations, world, port: service.port, measure };
}

const rank = ({ route }: Operation) => (route.type === "query" ? 0 : 1);

/** Draws inputs, changes the costliest of them, and measures the finalists again. */
async function findCostliest({ measure }: Stage, operation: Operation): Promise<Costliest> {
  // The pages of the largest records first: time may run out.
  const drawn = [
    ...goodCallers.map((caller) => largeSpec(operation, caller)),
    ...fc.sample(hostileSpecs([operation]), { seed: 1, numRuns: SAMPLES / 2 }),
    ...fc.sample(plausibleSpecs([operation]), { seed: 2, numRuns: SAMPLES / 2 }),
  ].filter(({ transport }) => transport !== "batch");
  const costs: Cost[] = [];
  const untilMs = performance.now() + SECONDS_PER_OPERATION * 1000;
  for (const spec of drawn) {
    if (performance.now() < untilMs) costs.push(await measure(spec));
  }
  for (let index = 0; index < SAMPLES / 2 && performance.now() < untilMs; index++) {
    const parents = costliestOf(costs, ({ ms }) => ms);
    const [first, second] = [parents[index % parents.length], costs[(index * 7) % costs.length]];
    if (first && second) costs.push(await measure(crossed(first.spec, second.spec, index)));
  }
  const finalists: Cost[] = [];
  for (const { spec } of costliestOf(costs, ({ ms }) => ms)) finalists.push(await measureAgain(measure, spec));
  const [byTime] = finalists.toSorted((a, b) => b.ms - a.ms);
  const [bySize] = costliestOf(costs, ({ bytes }) => bytes);
  if (!byTime || !bySize) throw new Error("nothing was measured");
  const name = operation.route.procedurePath;
  const isLimited = !operation.hashesPassword && !/(Init|Finalize)$/.test(name);
  return { name, byTime, bySize, isLimited, calls: 1 };
}

function costliestOf(costs: readonly Cost[], figureOf: (cost: Cost) => number): Cost[] {
  return costs.toSorted((a, b) => figureOf(b) - figureOf(a)).slice(0, FINALISTS);
}

/** The median of some repetitions: a single figure may include a garbage collection. */
async function measureAgain(measure: Stage["measure"], spec: Spec): Promise<Cost> {
  const costs: Cost[] = [];
  for (let index = 0; index < REPEATS; index++) costs.push(await measure(spec));
  const [median] = costs.sort((a, b) => a.ms - b.ms).slice(Math.floor(REPEATS / 2));
  if (median === undefined) throw new Error("nothing was measured");
  return median;
}

/** The largest page of the largest record. */
function largeSpec(operation: Operation, caller: Spec["caller"]): Spec {
  const { route, fields } = operation;
  const pool = /([a-z]+)\/\{\w+\}/.exec(route.path)?.[1] ?? "any";
  const input = Object.entries(fields).flatMap(([name, { maximum }]): [string, unknown][] => {
    if (name === "id") return [[name, new Known(`${pool}:large`, 1)]];
    return name === "limit" ? [[name, maximum]] : [];
  });
  return { caller, transport: "rest", calls: [{ operation, input }], body: null, target: null, header: null };
}

/** One with a field, the caller or the wire of another. */
function crossed(one: Spec, other: Spec, index: number): Spec {
  const [call] = one.calls;
  const [otherCall] = other.calls;
  if (!call || !otherCall || index % 4 === 0) return { ...one, caller: other.caller };
  if (index % 4 === 1) return { ...one, body: other.body, target: other.target, header: other.header };
  const input: Entries = [...otherCall.input.filter((_, at) => at % 2 === index % 2), ...call.input];
  const names = input.map(([name]) => name);
  return { ...one, calls: [{ ...call, input: input.filter(([name], at) => names.indexOf(name) === at) }] };
}

/** Twenty of an operation's costliest calls in one request. */
async function measureBatch(
  { measure }: Stage,
  operation: Operation,
  found: readonly Costliest[],
): Promise<Costliest[]> {
  const single = found.find(({ name }) => name === operation.route.procedurePath);
  if (single === undefined || !single.isLimited) return [];
  const specOf = ({ spec }: Cost): Spec => {
    const calls = Array.from({ length: BATCH }, () => spec.calls[0] ?? { operation, input: [] });
    return { caller: spec.caller, transport: "batch", calls, body: null, target: null, header: null };
  };
  const [byTime, bySize] = [await measure(specOf(single.byTime)), await measure(specOf(single.bySize))];
  return [{ name: `${single.name} × ${BATCH}`, byTime, bySize, isLimited: true, calls: BATCH }];
}

/** Sends the costliest requests at 20 calls a second, one kind after the other, while others read what is cheap. */
async function flood({ port, world }: Stage, costliest: readonly Costliest[], log: (line: string) => void) {
  const probes = { "GET /livez": {}, "GET /wallet of another user": world.credentialsOf("stranger") };
  const durations = Object.keys(probes).map((): number[] => []);
  for (const { name, byTime, calls } of costliest) {
    let going = true;
    const sending = repeat(
      CALLS_PER_SECOND / calls,
      () => going,
      async () => {
        // A lane would look for the end of the response at each packet, and hold up the probes.
        const bytes = buildRequest(byTime.spec, world).bytes.toString("latin1");
        const closing = Buffer.from(bytes.replace("\r\n", "\r\nConnection: close\r\n"), "latin1");
        await sendRaw(port, [closing], { end: false, timeoutMs: 120_000 });
      },
    );
    const probing = Object.entries(probes).map(([probe, credentials], index) => {
      const lane = new Lane(port, 120_000);
      const path = probe.split(" ")[1] ?? "/";
      const headers = Object.entries({ Host: "x", ...credentials }).map(([key, value]) => `${key}: ${value}\r\n`);
      const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\n${headers.join("")}\r\n`);
      return probe_(lane, bytes, () => going, durations[index] ?? []);
    });
    await sleep(FLOOD_SECONDS * 1000);
    going = false;
    await Promise.all([sending, ...probing]);
    log(`flooded with ${name}: ${durations.map((all) => `${p99Of(all).toFixed(0)} ms`).join(" and ")} at p99 so far`);
  }
  return Object.keys(probes).map((probe, index) =>
    limit(`${probe} at p99, flooded`, "ms", p99Of(durations[index] ?? []), MAX_P99_MS),
  );
}

/** Starts `work` at a constant rate, however long it takes, and waits for all of it in the end. */
async function repeat(perSecond: number, goesOn: () => boolean, work: () => Promise<void>): Promise<void> {
  const running: Promise<void>[] = [];
  while (goesOn()) {
    running.push(work());
    await sleep(1000 / perSecond);
  }
  await Promise.all(running);
}

async function probe_(lane: Lane, bytes: Buffer, goesOn: () => boolean, durations: number[]): Promise<void> {
  while (goesOn()) {
    const began = performance.now();
    const outcome = await lane.send(bytes, false);
    if (outcome.kind !== "answered" || outcome.response.status !== 200)
      throw new Error("a probe was not answered with 200");
    durations.push(performance.now() - began);
    await sleep(20);
  }
  lane.close();
}

function p99Of(durations: readonly number[]): number {
  return durations.toSorted((a, b) => a - b)[Math.floor(durations.length * 0.99)] ?? 0;
}

function describe({ caller, transport, calls, body, target, header }: Spec): string {
  const fields = (calls[0]?.input ?? []).map(([name, value]) => {
    const text = JSON.stringify(value) ?? "";
    return `${name.slice(0, 20)}: ${text.length > 40 ? `${text.slice(0, 30)}… (${text.length} characters)` : text}`;
  });
  const wire = [body, target, header?.[0]].filter((part) => part != null);
  return `${caller}, ${transport}${wire.length > 0 ? `, ${wire.join(", ")}` : ""} { ${fields.join(", ")} }`.slice(
    0,
    200,
  );
}
