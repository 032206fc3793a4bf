import { type Bench, interleave } from "./setup/bench.ts";
import { startLoadGenerator } from "./setup/processes.ts";
import { startRebid } from "./setup/rebid.ts";
import { postTask, seedTasks } from "./setup/seedTasks.ts";

const ROUNDS = 10;
const SECONDS = 1.5;
const CONNECTIONS = 16;

/**
 * What an `Idempotency-Key` costs: `POST /tasks` with one against the same without, at the same process. Both sides send a
 * header that differs each time; the baseline's is not kept.
 */
const bench: Bench = async (environment) => {
  const keys = await seedTasks(environment, { tasks: 2_000, buyers: CONNECTIONS });
  const port = await startRebid(environment);
  const generator = await startLoadGenerator(environment);
  const requestsPerSecond = async (uniqueHeader: string) => {
    const result = await generator.run({ ...postTask(keys), uniqueHeader, port, seconds: SECONDS });
    const failed = Object.entries(result.statuses).filter(([status]) => status !== "201");
    if (failed.length > 0) throw new Error(`POST /tasks answered with ${JSON.stringify(failed)}`);
    return result.requestsPerSecond;
  };
  await requestsPerSecond("Idempotency-Key");
  const figures = await interleave(
    ROUNDS,
    () => requestsPerSecond("Idempotency-Key"),
    () => requestsPerSecond("X-Request-Id"),
  );
  const what = "POST /tasks, with an Idempotency-Key";
  return [{ what, unit: "requests/s", ...figures, against: "the same without the key", atLeast: 0.9 }];
};
export default bench;
