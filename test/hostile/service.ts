import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import getPort from "get-port";
import { openDatabase } from "../../server/store/database.ts";
import { compileCache } from "../setup/compileCache.ts";
import { watchChanges } from "./changes.ts";
import { readContract } from "./document.ts";
import { SESSION_SECRET, World } from "./world.ts";

const root = new URL("../..", import.meta.url).pathname;

export interface HostileService {
  url: string;
  port: number;
  /** What was logged at level error. */
  log: string[];
  child: ChildProcess;
  stop(): Promise<void>;
}

/** Starts the service as a process of its own, without jobs, so that nothing changes but by requests. */
export async function startService(
  databaseUrl: string,
  directory: string,
  variables: Record<string, string> = {},
): Promise<HostileService> {
  const port = await getPort();
  const log: string[] = [];
  const child = spawn(process.execPath, ["server/start/main.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: databaseUrl,
      DATA_DIR: directory,
      PORT: String(port),
      SESSION_SECRET,
      ROLE: "api",
      RATE_LIMITS: "off",
      SPAM_GUARD: "off",
      LOG_LEVEL: "error",
      ...compileCache,
      ...variables,
    },
  });
  const ended = once(child, "close");
  const ready = Promise.withResolvers<void>();
  const read = (text: string) => {
    if (text.includes("Rebid is ready: ")) ready.resolve();
    else log.push(text);
  };
  child.stdout.setEncoding("utf8").on("data", read);
  child.stderr.setEncoding("utf8").on("data", read);
  void ended.then(() => ready.reject(new Error(`the service ended\n${log.join("")}`)));
  await ready.promise;
  return {
    ...{ url: `http://127.0.0.1:${port}`, port, log, child },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** The service, its people and records, the contract that it serves, and a watch on its database. */
export async function prepare(databaseUrl: string, ownerUrl: string, directory: string) {
  const service = await startService(databaseUrl, directory);
  const database = openDatabase(ownerUrl, { poolSize: 4 });
  const response = await fetch(`${service.url}/openapi.json`);
  const contract = readContract(await response.json());
  const world = await World.create(service.url, database);
  await watchChanges(database.pool);
  return {
    ...{ service, contract, world, databaseUrl, pool: database.pool, port: service.port },
    async stop() {
      await service.stop();
      await database.close();
    },
  };
}
