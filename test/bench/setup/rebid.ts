import getPort from "get-port";
import type { BenchEnvironment } from "./bench.ts";
import { startProcess } from "./processes.ts";

/** A server that runs in a process of its own. */
export interface Server {
  port: number;
  pid: number;
}

/** Starts the service, without its guards against too many requests, on the bench's database, and returns its port. */
export async function startRebid(...options: Parameters<typeof startRebidProcess>): Promise<number> {
  return (await startRebidProcess(...options)).port;
}

export async function startRebidProcess(
  environment: Pick<BenchEnvironment, "databaseUrl" | "directory" | "onEnd">,
  options: { environment?: Record<string, string>; nodeOptions?: string[] } = {},
): Promise<Server> {
  const port = await getPort();
  const file = new URL("../../../server/start/main.ts", import.meta.url).pathname;
  const { pid = 0 } = await startProcess(environment, file, {
    ...options,
    environment: {
      DATABASE_URL: environment.databaseUrl,
      DATA_DIR: environment.directory,
      PORT: String(port),
      ROLE: "api",
      RATE_LIMITS: "off",
      SPAM_GUARD: "off",
      LOG_LEVEL: "error",
      ...options.environment,
    },
    ready: /^Rebid is ready/,
  });
  return { port, pid };
}
