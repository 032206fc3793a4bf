import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import pg from "pg";
import type { BenchEnvironment } from "../bench.ts";
import { startProcess } from "../processes.ts";
import { processorTimeOf } from "../processorTime.ts";
import { type Server, startRebidProcess } from "../rebid.ts";
import { openTaskAt, taskIdOf, timeOf } from "../seed/identities.ts";
import { type MarketSize, seedMarket } from "../seed/market.ts";
import { seedLean } from "../yardsticks/lean/schema.ts";
import { type Recordable, recordTemplates } from "../yardsticks/ourSql/record.ts";
import { makePlain } from "../yardsticks/plain/schema.ts";

/** The yardsticks, as the table names them. */
export const yardsticks = {
  ourSql: "bare, our SQL",
  lean: "bare, leanest",
  plain: "the plain way",
} as const;
export type Yardstick = keyof typeof yardsticks;

export interface Side {
  port: number;
  /** Returns the processor time that the server and its database's connections have used, in milliseconds. */
  processorMs(): Promise<number>;
}

/** The service and the yardsticks. */
export type Sides = Record<"rebid" | Yardstick, Side>;

/** Seeds one database for each side and starts their servers, each in a process of its own. */
export async function startSides(environment: BenchEnvironment, size: MarketSize): Promise<Sides> {
  const { databaseUrl, databases, directory, log } = environment;
  log(`writing ${size.tasks.toLocaleString("en")} tasks`);
  await seedMarket(databaseUrl, size);
  log("copying the database");
  const ourSqlUrl = await databases.copyOf(databaseUrl, "our_sql");
  const plainUrl = await databases.copyOf(databaseUrl, "plain");
  await makePlain(plainUrl);
  log("writing the leanest tables");
  const leanUrl = await databases.empty("lean");
  await seedLean(leanUrl, size);

  log("recording the service's statements");
  const templates = await recordTemplates(environment, ourSqlUrl, recordables(size));
  const file = join(directory, "templates.json");
  await writeFile(file, JSON.stringify(templates));
  for (const [operation, { steps }] of Object.entries(templates)) log(`  ${operation}: ${steps.length} statements`);

  const sideOf = async (url: string, server: Promise<Server>): Promise<Side> => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => undefined);
    environment.onEnd(() => pool.end());
    const { port, pid } = await server;
    return { port, processorMs: processorTimeOf(pid, pool) };
  };
  const variables = { TEMPLATES: file };
  return {
    rebid: await sideOf(databaseUrl, startRebidProcess(environment)),
    ourSql: await sideOf(ourSqlUrl, startYardstick(environment, "ourSql", ourSqlUrl, variables)),
    lean: await sideOf(leanUrl, startYardstick(environment, "lean", leanUrl)),
    plain: await sideOf(plainUrl, startYardstick(environment, "plain", plainUrl)),
  };
}

async function startYardstick(
  environment: BenchEnvironment,
  yardstick: Yardstick,
  databaseUrl: string,
  variables: Record<string, string> = {},
): Promise<Server> {
  const port = await getPort();
  const file = new URL(`../yardsticks/${yardstick}/server.ts`, import.meta.url).pathname;
  const { pid = 0 } = await startProcess(environment, file, {
    environment: { NODE_ENV: "production", DATABASE_URL: databaseUrl, PORT: String(port), ...variables },
    ready: /^ready$/,
  });
  return { port, pid };
}

/** The operations of the table. Bids go to the oldest tasks, which the loads never reach. */
function recordables({ tasks, callers, savers }: MarketSize): Recordable[] {
  const [caller, saver] = [callers[0], savers[0]];
  if (caller === undefined || saver === undefined) throw new Error("there are no callers");
  const oldTask = (number: number) => taskIdOf(openTaskAt(Math.floor(tasks / 2) + number));
  const task = { title: "A task", description: "To be done.", maxBudgetCents: 100, tags: ["translation", "finnish"] };
  const bid = { priceCents: 90, etaHours: 24, notes: "Soon." };
  return [
    { operation: "GET /tasks", request: () => ({ path: "/tasks" }) },
    {
      operation: "GET /tasks?cursor",
      request: (number) => ({ path: `/tasks?cursor=${timeOf(openTaskAt(number * 50))}` }),
    },
    {
      operation: "GET /tasks/{id}",
      request: (number) => ({ path: `/tasks/${oldTask(number)}`, key: caller }),
    },
    {
      operation: "GET /wallet/ledger?cursor",
      request: (number) => ({ path: `/wallet/ledger?cursor=${timeOf(number * 50 + 1)}`, key: saver }),
    },
    { operation: "POST /tasks", request: () => ({ path: "/tasks", key: caller, body: task }) },
    {
      operation: "POST /tasks/{id}/bids",
      request: (number) => ({ path: `/tasks/${oldTask(number)}/bids`, key: caller, body: bid }),
    },
  ];
}
