import { pino } from "pino";
import { ConfigError, productionWarnings, readConfig } from "../config.ts";
import { traceIds } from "../tracing.ts";
import { prepareGround } from "./ground.ts";
import { prepareSites } from "./sites.ts";

/** Work that is unfinished this long after SIGTERM and `DRAIN_SECONDS` is aborted. */
const SHUTDOWN_TIMEOUT_MS = 9_000;

/** Paths that are redacted in every log line. */
const secretPaths = ["password", "token", "raw", "authorization", "cookie", "signingSecret", "secretKey"].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
);

async function explain(error: unknown): Promise<string> {
  if (error instanceof ConfigError) return error.message;
  // Loaded only now, because they load much of the service, and the database can start before that.
  const { MigrationError } = await import("../../prisma/migrate.ts");
  const { isDatabaseUnavailable } = await import("../store/databaseErrors.ts");
  if (error instanceof MigrationError) return error.message;
  if (isDatabaseUnavailable(error)) return `The database does not respond. Check DATABASE_URL. (${messageOf(error)})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** An AggregateError, which Node throws when every address of a host refuses, has no message of its own. */
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
    mixin: traceIds,
  });
  for (const warning of productionWarnings(config)) log.warn(warning);
  // `on`, not `once`: npm forwards a signal that the terminal also sends to us, and the second one must not kill us.
  const stopped = new Promise<null>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => resolve(null));
  });
  const tracing = config.tracing && (await (await import("./sendSpans.ts")).sendSpans(config.tracing));
  const start = async () => {
    const [{ isReady }, { areReady }] = await Promise.all([prepareGround(config, log), prepareSites(config, log)]);
    // Loaded only now, because that takes longer than finding a mistake in the settings.
    const [ground, { startService }] = await Promise.all([isReady, import("./service.ts")]);
    return startService(config, log, ground, areReady);
  };
  const starting = start();
  const service = await Promise.race([starting, stopped]);
  // Stopped during startup: the embedded services stop when the process exits.
  if (service === null) return;
  console.log(`Rebid is ready: ${service.url ?? "worker"}`);

  await stopped;
  const abort = () => {
    log.error("the shutdown took too long: aborting unfinished work");
    process.exit(1);
  };
  setTimeout(abort, config.drainSeconds * 1000 + SHUTDOWN_TIMEOUT_MS).unref();
  await service.stop();
  await tracing?.stop();
}

main().then(
  () => process.exit(0),
  async (error: unknown) => {
    console.error(`Rebid did not start.\n${await explain(error)}`);
    process.exit(1);
  },
);
