import getPort from "get-port";
import type { BenchEnvironment } from "./bench.ts";
import { startProcess } from "./processes.ts";

/** Starts the service, without its guards against too many requests, on the bench's database, and returns its port. */
export async function startRebid(
  environment: Pick<BenchEnvironment, "databaseUrl" | "directory" | "onEnd">,
  options: { environment?: Record<string, string>; nodeOptions?: string[] } = {},
): Promise<number> {
  const port = await getPort();
  const file = new URL("../../../server/start/main.ts", import.meta.url).pathname;
  await startProcess(environment, file, {
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
  return port;
}
