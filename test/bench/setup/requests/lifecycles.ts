import { type BenchEnvironment, compare, type Measurement, takeTurns } from "../bench.ts";
import { startLifecycleGenerator } from "../processes.ts";
import { describeCpuTime, ROUNDS, SECONDS, warmUp } from "./compare.ts";
import { type Sides, type Yardstick, yardsticks } from "./sides.ts";

const targets: Record<Yardstick, number> = { ourSql: 0.6, lean: 0.5, plain: 2 };

/** Whole lifecycles a second, for every side: the post, three bids, the award, the delivery, its acceptance. */
export async function compareLifecycles(
  environment: BenchEnvironment,
  sides: Sides,
  load: { storePort: number; keys: string[] },
): Promise<Measurement[]> {
  const what = "a whole lifecycle: post, 3 bids, award, delivery, accept";
  if (!what.includes(process.env.BENCH_ROWS ?? "")) return [];
  const generator = await startLifecycleGenerator(environment);
  const cpuMs: Record<string, number[]> = {};
  const measure = (name: keyof Sides) => async () => {
    const { port, cpuMs: readMs } = sides[name];
    const beforeMs = await readMs();
    const { lifecycles, lifecyclesPerSecond } = await generator.run({ ...load, port, seconds: SECONDS });
    cpuMs[name] = [...(cpuMs[name] ?? []), ((await readMs()) - beforeMs) / lifecycles];
    return lifecyclesPerSecond;
  };
  const turns = {
    ...{ rebid: measure("rebid"), ourSql: measure("ourSql"), lean: measure("lean"), plain: measure("plain") },
  };
  await warmUp(turns, cpuMs);
  const figures = await takeTurns(ROUNDS, turns);
  environment.log(`${what}: ${describeCpuTime(cpuMs)}`);
  return Object.entries(yardsticks).map(([name, against]) => {
    const yardstick = name as Yardstick;
    const ratios = compare(figures.rebid, figures[yardstick]);
    return { what, unit: "lifecycles/s", ...ratios, against, atLeast: targets[yardstick] };
  });
}
