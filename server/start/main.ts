import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { pino } from "pino";
import { MigrationError } from "../../prisma/migrate.ts";
import { ConfigError, readConfig } from "../config.ts";
import { isDatabaseUnavailable } from "../store/databaseErrors.ts";
import { prepareSites } from "./sites.ts";

/** Work that is unfinished this long after SIGTERM is aborted. */
const SHUTDOWN_TIMEOUT_MS = 9_000;

/** Paths that are redacted in every log line. */
const secretPaths = ["password", "token", "raw", "authorization", "cookie", "signingSecret", "secretKey"].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
);

function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof MigrationError) return error.message;
  if (isDatabaseUnavailable(error)) return `The database does not respond. Check DATABASE_URL. (${messageOf(error)})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** An AggregateError, which Node throws when every address of a host refuses, has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

async function main(): Promise<void> {
  // What is imported from here on is compiled once: the next start takes a third less. Without write access, as before.
  enableCompileCache(join(import.meta.dirname, "../../.build/compiled"));
  const config = readConfig(process.env);
  const log = pino({
    level: config.logLevel,
    redact: secretPaths,
    serializers: { error: pino.stdSerializers.err },
  });
  // `on`, not `once`: npm forwards a signal that the terminal also sends to us, and the second one must not kill us.
  const stopped = new Promise<null>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => resolve(null));
  });
  const start = async () => {
    const sites = await prepareSites(config, log);
    // Loaded only now, because that takes longer than finding a mistake in the settings.
    const { startService } = await import("./service.ts");
    return startService(config, log, sites.areReady);
  };
  const starting = start();
  const service = await Promise.race([starting, stopped]);
  // Stopped during startup: the embedded services stop when the process exits.
  if (service === null) return;
  console.log(`Rebid is ready: ${service.url ?? "worker"}`);

  await stopped;
  setTimeout(() => {
    log.error("the shutdown took too long: aborting unfinished work");
    process.exit(1);
  }, SHUTDOWN_TIMEOUT_MS).unref();
  await service.stop();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(`Rebid did not start.\n${explain(error)}`);
    process.exit(1);
  },
);
