import getPort from "get-port";
import { type Bench, type BenchEnvironment, interleave, type Measurement } from "./setup/bench.ts";
import { type Load, startLoadGenerator, startProcess } from "./setup/processes.ts";
import { startRebid } from "./setup/rebid.ts";
import { seedTasks } from "./setup/seedTasks.ts";

const TASKS = 200_000;
const ROUNDS = 6;
const SECONDS = 2;
const CONNECTIONS = 16;

/**
 * What the service costs on top of its SQL: `GET /tasks` (50 of 200,000 rows) and `POST /tasks` (with an API key)
 * against bare `node:http` + `pg` handlers that send the same statements to the same database.
 */
const bench: Bench = async (environment) => {
  const keys = await seedTasks(environment, { tasks: TASKS, buyers: CONNECTIONS });
  const bare = await startBareServer(environment);
  const rebid = await startRebid(environment);
  const generator = await startLoadGenerator(environment);

  async function compare(what: string, atLeast: number, load: Omit<Load, "port" | "seconds">) {
    const requestsPerSecond = async (port: number, seconds: number) => {
      const result = await generator.run({ ...load, port, seconds });
      const failed = Object.entries(result.statuses).filter(([status]) => !status.startsWith("2"));
      if (failed.length > 0) throw new Error(`${what} on port ${port} answered with ${JSON.stringify(failed)}`);
      return result.requestsPerSecond;
    };
    for (const port of [rebid, bare]) await requestsPerSecond(port, SECONDS);
    const figures = await interleave(
      ROUNDS,
      () => requestsPerSecond(rebid, SECONDS),
      () => requestsPerSecond(bare, SECONDS),
    );
    return { what, unit: "requests/s", ...figures, against: "bare node:http + pg", atLeast } satisfies Measurement;
  }

  /** The cost of an `Idempotency-Key`. Both sides send a header that differs each time; the baseline's is not kept. */
  async function compareKeys(load: Omit<Load, "port" | "seconds">): Promise<Measurement> {
    const requestsPerSecond = async (uniqueHeader: string) => {
      const result = await generator.run({ ...load, uniqueHeader, port: rebid, seconds: SECONDS });
      return result.requestsPerSecond;
    };
    const figures = await interleave(
      2 * ROUNDS,
      () => requestsPerSecond("Idempotency-Key"),
      () => requestsPerSecond("X-Request-Id"),
    );
    const against = "the same without the key";
    return { what: "POST /tasks, with an Idempotency-Key", unit: "requests/s", ...figures, against, atLeast: 0.9 };
  }

  const task = {
    title: "Translate a page",
    description: "From English to Finnish, in plain words.",
    maxBudgetCents: 100,
    tags: ["translation", "finnish"],
  };
  const headers = keys.map((key) => ({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" }));
  const post = { method: "POST", path: "/tasks", headers, body: JSON.stringify(task) };
  return [
    await compare(`GET /tasks, 50 of ${TASKS.toLocaleString("en")}`, 0.5, {
      method: "GET",
      path: "/tasks",
      headers: keys.map(() => ({})),
    }),
    await compare("POST /tasks, with an API key", 0.4, post),
    await compareKeys(post),
  ];
};
export default bench;

async function startBareServer(environment: BenchEnvironment): Promise<number> {
  const port = await getPort();
  const file = new URL("setup/bareServer.ts", import.meta.url).pathname;
  const variables = { DATABASE_URL: environment.databaseUrl, PORT: String(port) };
  await startProcess(environment, file, { environment: variables, ready: /^ready$/ });
  return port;
}
