import fc from "fast-check";
import type pg from "pg";
import { type Change, takeChanges } from "./changes.ts";
import type { Contract } from "./document.ts";
import { type Fault, judge, mayHaveChanged } from "./judge.ts";
import { type RawCase, rawCases, tryRaw } from "./raw.ts";
import {
  buildRequest,
  changingOperations,
  hostileSpecs,
  plausibleSpecs,
  type Request,
  reproduction,
  type Spec,
  twinOf,
} from "./requests.ts";
import { Lane, type Outcome } from "./wire.ts";
import type { Caller, World } from "./world.ts";

export interface Options {
  contract: Contract;
  world: World;
  pool: pg.Pool;
  port: number;
  requests: number;
  seed: number;
  onProgress?: (figures: Figures) => void;
}

export interface Finding extends Fault {
  /** How often a fault of this kind came up. */
  count: number;
  /** The smallest request that still shows it, and how to draw it again. */
  reproduction: string;
}

export interface Figures {
  requests: number;
  statuses: Record<string, number>;
  /** By operation: how many calls succeeded and how many were refused. */
  operations: Map<string, { succeeded: number; refused: number }>;
  findings: Map<string, Finding>;
}

const LANES = 16;
/** One block has this many requests of each kind, and then its changes are checked. */
const BLOCK = { storm: 440, quiet: 45, raw: 15 } as const;
const BLOCKS_PER_REFILL = 8;
/** Clocks of two processes on one machine. */
const CLOCK_SLACK_MS = 3;
const MAX_SHRINKS = 12;
/** Longer lists of issues are cut off, at whatever happens to come first. */
const MAX_COMPARED_PATHS = 8;
const SHRINK_LIMIT_MS = 4_000;

interface Interval {
  fromMs: number;
  toMs: number;
}

interface Sent extends Interval {
  spec: Spec;
  request: Request;
  outcome: Outcome;
}

/**
 * Sends requests in blocks until there are as many as asked for. A block is a storm of hostile requests on many
 * connections, plausible changes one after the other, and raw bytes. The same seed draws the same requests, as far as the
 * answers are the same.
 */
export async function run({ contract, world, pool, port, requests, seed, onProgress }: Options): Promise<Figures> {
  const figures: Figures = { requests: 0, statuses: {}, operations: new Map(), findings: new Map() };
  const lanes = Array.from({ length: LANES }, () => new Lane(port));
  const storm = hostileSpecs(contract.operations);
  const changing = changingOperations(contract.operations);
  const quiet = plausibleSpecs(changing);
  /** Every second block aims at what has not succeeded yet: an award by chance takes its buyer and an open task's bid. */
  const quietOf = (block: number) => {
    const missed = changing.filter(({ route }) => !figures.operations.get(route.procedurePath)?.succeeded);
    return block % 2 === 0 || missed.length === 0 ? quiet : plausibleSpecs(missed);
  };
  await takeChanges(pool);

  try {
    for (let block = 0; figures.requests < requests; block++) {
      if (block > 0 && block % BLOCKS_PER_REFILL === 0) await world.refill().then(() => takeChanges(pool));
      await playSpecs(storm, block * 3, BLOCK.storm, LANES);
      await playSpecs(quietOf(block), block * 3 + 1, BLOCK.quiet, 1);
      await playRaw(block * 3 + 2);
      onProgress?.(figures);
    }
  } finally {
    for (const lane of lanes) lane.close();
  }
  return figures;

  async function playSpecs(arbitrary: fc.Arbitrary<Spec>, step: number, count: number, width: number): Promise<void> {
    const drawn = { seed: seedOf(seed, step), numRuns: count };
    const specs = fc.sample(arbitrary, drawn);
    const sent: Sent[] = [];
    const renewed = new Set<Caller>();
    const explained: Interval[] = [];
    const shrinks: (() => Promise<void>)[] = [];
    let next = 0;
    const work = async (lane: Lane) => {
      for (let index = next++; index < specs.length; index = next++) {
        const spec = specs[index];
        if (spec === undefined) return;
        const one = await send(lane, spec);
        sent.push(one);
        count_(one);
        const examine = async (it: Sent) =>
          judge(contract, it.request, it.outcome) ?? (await compareWithTwin(lane, it));
        const again = async (other: Spec) => examine(await send(lane, other));
        const fault = await examine(one);
        if (fault !== null && record(fault, one.request)) {
          shrinks.push(() => describeSmallest(fault, () => shrink(arbitrary, drawn.seed, index, fault, again)));
        }
        if (isLogout(one)) {
          await world.renew(spec.caller);
          explained.push({ fromMs: one.fromMs, toMs: Date.now() });
        } else if (isUnauthenticated(one)) renewed.add(spec.caller);
      }
    };
    await Promise.all(lanes.slice(0, width).map(work));
    for (const { change, suspects } of await findUnexplained(sent, explained)) {
      const what = `a refused request changed ${change.table} (${change.operation})`;
      const shown = suspects.slice(0, 3).map(({ request }) => `\n  ${reproduction(request, port)}`);
      record({ what, detail: `${suspects.length} requests were under way, such as ${shown.join("")}` }, null);
    }
    for (const smaller of shrinks) await smaller();
    for (const caller of renewed) await world.renew(caller);
    await takeChanges(pool);
  }

  async function send(lane: Lane, spec: Spec): Promise<Sent> {
    const request = buildRequest(spec, world);
    const fromMs = Date.now();
    const outcome = await lane.send(request.bytes, request.method === "HEAD");
    figures.requests++;
    return { spec, request, outcome, fromMs, toMs: Date.now() };
  }

  /** An invalid input is refused alike over both transports. */
  async function compareWithTwin(lane: Lane, { spec, outcome }: Sent): Promise<Fault | null> {
    const twin = twinOf(spec);
    const error = twin === null ? null : errorOf(outcome);
    if (twin === null || error?.code !== "invalid_input") return null;
    const other = errorOf((await send(lane, twin)).outcome);
    // Another request may have ended the session in the meantime.
    if (other?.code === "unauthenticated") return null;
    const isCut = error.paths.length >= MAX_COMPARED_PATHS;
    if (other?.code === error.code && (isCut || other.paths.join() === error.paths.join())) return null;
    // The known ids may stand for other records by now, so the first request must still be refused as before.
    const repeated = errorOf((await send(lane, spec)).outcome);
    if (repeated?.code !== error.code || repeated.paths.join() !== error.paths.join()) return null;
    const operation = spec.calls[0]?.operation.route.procedurePath;
    return {
      what: `${operation}: refused otherwise over RPC`,
      detail: `${JSON.stringify(error)}, ${JSON.stringify(other)}`,
    };
  }

  async function playRaw(step: number): Promise<void> {
    const drawn = { seed: seedOf(seed, step), numRuns: BLOCK.raw };
    const cases = fc.sample(rawCases, drawn);
    figures.requests += cases.length;
    const shrinks: (() => Promise<void>)[] = [];
    await Promise.all(
      cases.map(async (raw, index) => {
        const fault = await tryRaw(contract, port, raw);
        if (fault === null) return;
        const named = { what: `${raw.name}: ${fault.what}`, detail: fault.detail };
        const again = (other: RawCase) => tryRaw(contract, port, other);
        if (record(named, raw)) {
          shrinks.push(() => describeSmallest(named, () => shrink(rawCases, drawn.seed, index, fault, again)));
        }
      }),
    );
    for (const change of await takeChanges(pool)) {
      const what = `raw bytes changed ${change.table} (${change.operation})`;
      record({ what, detail: cases.map((raw) => `\n  ${reproduction(raw, port)}`).join("") }, null);
    }
    for (const smaller of shrinks) await smaller();
    await takeChanges(pool);
  }

  /** Finds a smaller case that shows the same fault, by letting fast-check shrink the one that it drew. */
  async function shrink<Case>(
    arbitrary: fc.Arbitrary<Case>,
    drawnWith: number,
    index: number,
    fault: Fault,
    again: (one: Case) => Promise<Fault | null>,
  ): Promise<string> {
    let smallest: Case | undefined;
    await fc.check(
      fc.asyncProperty(arbitrary, async (one) => {
        if ((await again(one))?.what !== fault.what) return true;
        smallest = one;
        return false;
      }),
      { seed: drawnWith, path: String(index), numRuns: 1, interruptAfterTimeLimit: SHRINK_LIMIT_MS },
    );
    if (smallest === undefined) return "did not happen again";
    const request = isSpec(smallest) ? buildRequest(smallest, world) : (smallest as unknown as RawCase); // one of the two
    return `${isSpec(smallest) ? `as ${smallest.caller}: ` : ""}${reproduction(request, port)}`;
  }

  /** Returns true for the first fault of its kind. */
  function record(fault: Fault, request: { bytes: Buffer } | null): boolean {
    const found = figures.findings.get(fault.what);
    if (found !== undefined) found.count++;
    else {
      const sent = request === null ? "" : reproduction(request, port);
      figures.findings.set(fault.what, { ...fault, count: 1, reproduction: sent });
    }
    return found === undefined && figures.findings.size <= MAX_SHRINKS;
  }

  async function describeSmallest({ what }: Fault, smaller: () => Promise<string>): Promise<void> {
    const finding = figures.findings.get(what);
    if (finding !== undefined) finding.reproduction = `${await smaller()}\n  as sent: ${finding.reproduction}`;
  }

  /** The changes that no successful request explains, each with the requests that were under way. */
  async function findUnexplained(sent: readonly Sent[], explained: readonly Interval[]) {
    const changes = await takeChanges(pool);
    const covers = ({ fromMs, toMs }: Interval, { atMs }: Change) => {
      return fromMs - CLOCK_SLACK_MS <= atMs && atMs <= toMs + CLOCK_SLACK_MS;
    };
    const successes = [...explained, ...sent.filter(({ request, outcome }) => mayHaveChanged(request, outcome))];
    return changes
      .filter((change) => !successes.some((one) => covers(one, change)))
      .map((change) => ({ change, suspects: sent.filter((one) => covers(one, change)) }));
  }

  function count_({ request, outcome, spec }: Sent): void {
    if (outcome.kind !== "answered") return;
    const { status, body } = outcome.response;
    figures.statuses[status] = (figures.statuses[status] ?? 0) + 1;
    const [operation] = request.calls;
    if (!operation || request.isOdd || spec.transport === "batch") return;
    const tally = figures.operations.get(operation.route.procedurePath) ?? { succeeded: 0, refused: 0 };
    figures.operations.set(operation.route.procedurePath, tally);
    if (status >= 400) tally.refused++;
    else tally.succeeded++;
    if (status < 400 && body.length > 0 && body.length < 200_000 && request.method !== "HEAD") {
      const answer = JSON.parse(body.toString());
      world.learn(answer?.result?.data ?? answer, /^[a-z]+/.exec(operation.route.procedurePath)?.[0]);
    }
  }
}

interface Refusal {
  error: string;
  issues?: { path: string }[];
}

/** The code of a refusal and the paths of its issues, sorted. */
function errorOf(outcome: Outcome): { code: string; paths: string[] } | null {
  if (outcome.kind !== "answered" || outcome.response.status < 400) return null;
  const body = JSON.parse(outcome.response.body.toString()) as Refusal | { error: { data: Refusal } }; // judged before
  const { error, issues = [] } = typeof body.error === "object" ? body.error.data : (body as Refusal);
  return { code: error, paths: [...new Set(issues.map(({ path }) => path))].sort() };
}

function isSpec(value: unknown): value is Spec {
  return typeof value === "object" && value !== null && "transport" in value;
}

function isUnauthenticated({ outcome }: Sent): boolean {
  return outcome.kind === "answered" && outcome.response.status === 401;
}

function isLogout({ request, outcome }: Sent): boolean {
  const isOne = request.calls.some((operation) => operation?.route.procedurePath === "auth.logout");
  return isOne && mayHaveChanged(request, outcome);
}

/** A different seed for each step of a run. */
function seedOf(seed: number, step: number): number {
  return (Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b)) | 0;
}
