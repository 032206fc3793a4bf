import { type BenchEnvironment, compare, type Measurement, medianOf, takeTurns } from "../bench.ts";
import { type Load, startLoadGenerator } from "../processes.ts";
import { type Side, type Sides, type Yardstick, yardsticks } from "./sides.ts";

export const ROUNDS = 5;
export const SECONDS = Number(process.env.BENCH_SECONDS ?? 1.5);

/** One line of the table: a load, and what the service must at least reach against each yardstick. */
export interface Row {
  what: string;
  load: Omit<Load, "port" | "seconds" | "first">;
  /** The same as typed RPC. */
  rpc?: Pick<Load, "path"> & { body?: string };
  targets: Record<Yardstick, number>;
}

/** The service's third turn still takes a third more CPU time than its sixth. */
const WARM_UP_ROUNDS = 4;

/**
 * Takes turns until the code is compiled and each connection has its prepared statements and caches, and forgets their
 * figures.
 */
export async function warmUp(
  turns: Record<string, () => Promise<number>>,
  cpuMs: Record<string, number[]>,
): Promise<void> {
  await takeTurns(WARM_UP_ROUNDS, turns);
  for (const figures of Object.values(cpuMs)) figures.length = 0;
}

/** "Not slower" with the noise of a median of five. */
const RPC_AT_LEAST = 0.97;

/** Sends each row's load to all sides in turns. */
export async function compareSides(
  environment: BenchEnvironment,
  sides: Sides,
  rows: readonly Row[],
): Promise<Measurement[]> {
  const generator = await startLoadGenerator(environment);
  const measurements: Measurement[] = [];
  const wanted = process.env.BENCH_ROWS ?? "";
  for (const { what, load, rpc, targets } of rows.filter((row) => row.what.includes(wanted))) {
    // Every request of a row has a number of its own in each database, because nobody bids twice for one task.
    const counters = new Map<number, number>();
    const cpuMs: Record<string, number[]> = {};
    const bytes: Record<string, number> = {};
    const measure =
      (name: string, side: Side, changes: Partial<Load> = {}) =>
      async () => {
        const { port } = side;
        const first = counters.get(port) ?? 0;
        const beforeMs = await side.cpuMs();
        const order = { ...load, ...changes, port, first, seconds: SECONDS };
        const { requestsPerSecond, sent, bytesPerBody } = await generator.run(order);
        bytes[name] = bytesPerBody;
        cpuMs[name] = [...(cpuMs[name] ?? []), ((await side.cpuMs()) - beforeMs) / sent];
        counters.set(port, first + sent);
        return requestsPerSecond;
      };
    const turns: Record<string, () => Promise<number>> = {
      rebid: measure("rebid", sides.rebid),
      ...(rpc && { rpc: measure("rpc", sides.rebid, rpc) }),
      ...Object.fromEntries(Object.keys(yardsticks).map((name) => [name, measure(name, sides[name as Yardstick])])),
    };
    await warmUp(turns, cpuMs);
    assertSameBodies(what, bytes);
    const figures = await takeTurns(ROUNDS, turns);
    const ours = figures.rebid ?? [];
    const unit = "requests/s";
    for (const [name, against] of Object.entries(yardsticks)) {
      const atLeast = targets[name as Yardstick];
      measurements.push({ what, unit, ...compare(ours, figures[name] ?? []), against, atLeast });
    }
    if (figures.rpc) {
      const ratios = compare(figures.rpc, ours);
      measurements.push({ what: `${what}: typed RPC`, unit, ...ratios, against: "REST", atLeast: RPC_AT_LEAST });
    }
    environment.log(`${what}: ${describeCpuTime(cpuMs)}`);
  }
  return measurements;
}

/** On a machine that does other things as well, the CPU time is the steadier figure. */
export function describeCpuTime({ rebid = [], ...others }: Record<string, number[]>): string {
  const ours = medianOf(rebid);
  const parts = Object.entries(others).map(([name, figures]) => {
    const figure = medianOf(figures);
    return `${name} ${(figure * 1000).toFixed(0)} (${(figure / ours).toFixed(2)})`;
  });
  return `µs of processor a request, and ratio: ours ${(ours * 1000).toFixed(0)}, ${parts.join(", ")}`;
}

/** The same job has the same answer. The plain way's timestamps are three digits shorter, and typed RPC has an envelope. */
function assertSameBodies(what: string, { rebid = 0, ...others }: Record<string, number>): void {
  for (const [name, bytes] of Object.entries(others)) {
    if (Math.abs(bytes / rebid - 1) > 0.15) {
      throw new Error(
        `${what}: a body of ${name} has ${bytes.toFixed(0)} bytes, one of the service ${rebid.toFixed(0)}`,
      );
    }
  }
}
