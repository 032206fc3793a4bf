import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import getPort from "get-port";
import pg from "pg";
import type { BenchEnvironment } from "../bench.ts";
import { cpuTimeOf } from "../cpuTime.ts";
import { startProcess } from "../processes.ts";
import { type Server, startRebidProcess } from "../rebid.ts";
import { type MarketSize, seedMarket } from "../seed/market.ts";
import { seedLean } from "../yardsticks/lean/schema.ts";
import { recordTemplates } from "../yardsticks/ourSql/record.ts";
import { makePlain } from "../yardsticks/plain/schema.ts";
import { recordables } from "./recordables.ts";
import { startStore } from "./store.ts";

/** The yardsticks, as the table names them. */
export const yardsticks = {
  ourSql: "bare, our SQL",
  lean: "bare, leanest",
  plain: "the plain way",
} as const;
export type Yardstick = keyof typeof yardsticks;

export interface Side {
  port: number;
  /** Returns the CPU time that the server and its database's connections have used, in milliseconds. */
  cpuMs(): Promise<number>;
}

/** The service and the yardsticks. */
export type Sides = Record<"rebid" | Yardstick, Side>;

/** Seeds one database for each side and starts their servers, each in a process of its own. */
export async function startSides(
  environment: BenchEnvironment,
  size: MarketSize,
): Promise<{ sides: Sides; storePort: number }> {
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

  const store = await startStore(environment);
  log("recording the service's statements");
  const templates = await recordTemplates(environment, ourSqlUrl, recordables(size), store.variables);
  const file = join(directory, "templates.json");
  await writeFile(file, JSON.stringify(templates));
  for (const [operation, { steps }] of Object.entries(templates)) log(`  ${operation}: ${steps.length} statements`);

  const sideOf = async (url: string, server: Promise<Server>): Promise<Side> => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => undefined);
    environment.onEnd(() => pool.end());
    const { port, pid } = await server;
    return { port, cpuMs: cpuTimeOf(pid, pool) };
  };
  const { variables } = store;
  const sides = {
    rebid: await sideOf(databaseUrl, startRebidProcess(environment, { environment: store.variables })),
    ourSql: await sideOf(
      ourSqlUrl,
      startYardstick(environment, "ourSql", ourSqlUrl, { ...variables, TEMPLATES: file }),
    ),
    lean: await sideOf(leanUrl, startYardstick(environment, "lean", leanUrl, variables)),
    plain: await sideOf(plainUrl, startYardstick(environment, "plain", plainUrl, variables)),
  };
  return { sides, storePort: store.port };
}

async function startYardstick(
  environment: BenchEnvironment,
  yardstick: Yardstick,
  databaseUrl: string,
  variables: Record<string, string>,
): Promise<Server> {
  const port = await getPort();
  const file = new URL(`../yardsticks/${yardstick}/server.ts`, import.meta.url).pathname;
  const { pid = 0 } = await startProcess(environment, file, {
    environment: { NODE_ENV: "production", DATABASE_URL: databaseUrl, PORT: String(port), ...variables },
    ready: /^ready$/,
  });
  return { port, pid };
}
