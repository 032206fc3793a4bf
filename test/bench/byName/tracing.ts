import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Bench, type BenchEnvironment, compare, takeTurns } from "../setup/bench.ts";
import { timeOfProcess } from "../setup/cpuTime.ts";
import { startLoadGenerator } from "../setup/processes.ts";
import { startRebidProcess } from "../setup/rebid.ts";
import { seedTasks } from "../setup/seedTasks.ts";

const TASKS = 20_000;
const CONNECTIONS = 8;
const ROUNDS = 7;
const SECONDS = 3;

/** Shares of traces that are sent; null for a service without an address to send them to. */
const shares = { off: null, few: 0.01, all: 1 } as const;

/** What traces cost: the CPU time of a request, without a collector, and with one that gets 1 % or all of them. */
const bench: Bench = async (environment) => {
  const keys = await seedTasks(environment, { tasks: TASKS, buyers: CONNECTIONS });
  const collector = await startCollector(environment);
  const generator = await startLoadGenerator(environment);
  const headers = keys.slice(0, CONNECTIONS).map((key) => ({ authorization: `Bearer ${key}` }));
  const load = { method: "GET", path: "/wallet", headers };

  const side = async (share: number | null) => {
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_TRACES_SAMPLER_ARG: String(share) };
    const { port, pid } = await startRebidProcess(environment, { environment: share === null ? {} : variables });
    const run = async () => {
      const before = await timeOfProcess(pid);
      const { sent } = await generator.run({ ...load, port, seconds: SECONDS });
      return ((await timeOfProcess(pid)) - before) / sent;
    };
    await run(); // warms up
    return run;
  };
  const sides = { off: await side(shares.off), few: await side(shares.few), all: await side(shares.all) };
  const figures = await takeTurns(ROUNDS, sides);
  const what = "GET /wallet with a key, traces sent:";
  const without = { unit: "ms of the process a request", against: "none" };
  return [
    { what: `${what} 1 %`, ...without, ...compare(figures.few, figures.off), atMost: 1.05 },
    { what: `${what} all`, ...without, ...compare(figures.all, figures.off) },
  ];
};
export default bench;

/** Takes what is sent, and forgets it. */
async function startCollector({ onEnd }: BenchEnvironment): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.setHeader("Content-Type", "application/json").end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
