import { pino } from "pino";
import { MigrationError } from "../../prisma/migrate.ts";
import { ConfigError, readConfig } from "../config.ts";
import { isDatabaseAway } from "../store/databaseErrors.ts";
import { startService } from "./service.ts";

/** Whatever is still in flight this long after SIGTERM is cut off. */
const SHUTDOWN_TIMEOUT_MS = 9_000;

/** Never in a log, wherever an object that is logged carries them. */
const secretPaths = ["password", "token", "raw", "authorization", "cookie", "signingSecret", "secretKey"].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
);

function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof MigrationError) return error.message;
  if (isDatabaseAway(error)) return `The database does not answer; is DATABASE_URL right? (${messageOf(error)})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Node's error for "refused on every address" has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = pino({
    level: config.logLevel,
    redact: secretPaths,
    serializers: { error: pino.stdSerializers.err },
  });
  // `on`, not `once`: npm passes on a signal that the terminal has sent to us already, and a second one must not kill.
  const stopped = new Promise<null>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => resolve(null));
  });
  const service = await Promise.race([startService(config, log), stopped]);
  // Stopped before it served anything: the embedded parts stop when the process exits.
  if (service === null) return;
  console.log(`Rebid is ready: ${service.url ?? "worker"}`);

  await stopped;
  setTimeout(() => {
    log.error("the shutdown took too long; what is left is cut off");
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
