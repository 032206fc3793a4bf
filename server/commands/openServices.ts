import { pino } from "pino";
import { type BackingServiceSettings, configuredBackingServices } from "../backingServices.ts";
import { type Config, readConfig } from "../config.ts";
import { loadEmbedded } from "../embedded.ts";
import { MovableClock } from "../gateways/clock.ts";
import type { Services } from "../services.ts";
import { readTestClock } from "../store/testClock.ts";

/** Maximum number of database connections of a command. */
const POOL_SIZE = 4;

/**
 * Returns the backing services of a running Rebid: those in the settings, or the embedded ones that the data directory names.
 * @throws ConfigError when the settings do not name every backing service and no Rebid is running on the data directory
 */
export async function findBackingServices(
  config: Config,
): Promise<{ settings: BackingServiceSettings; publicUrl: string; areEmbedded: boolean }> {
  const configured = configuredBackingServices(config);
  const { settings, serviceUrl } =
    configured !== null ? { settings: configured, serviceUrl: null } : (await loadEmbedded()).findRunning(config);
  const publicUrl = config.publicUrl ?? serviceUrl ?? `http://localhost:${config.port}`;
  return { settings, publicUrl, areEmbedded: configured === null };
}

/**
 * Connects to the backing services of a running Rebid, with the service's own settings. The data directory provides the
 * addresses of embedded services.
 * @throws ConfigError when the settings do not name every backing service and no Rebid is running on the data directory
 */
async function openServices(): Promise<{ services: Services; close(): Promise<void> }> {
  const config = readConfig(process.env);
  // Loaded only now, because it takes longer than finding a mistake in the arguments or the settings.
  const { createServices } = await import("../services.ts");
  const { settings: backing, publicUrl, areEmbedded } = await findBackingServices(config);
  const clock = new MovableClock();
  if (areEmbedded) clock.moveTo(await readTestClock(backing.databaseUrl));
  const logAt = (level: string) =>
    pino({ level, serializers: { error: pino.stdSerializers.err } }, pino.destination(2));
  return createServices(backing, {
    settings: { ...config, publicUrl },
    pool: { poolSize: POOL_SIZE },
    log: logAt("warn"),
    clock,
    // On an operator's terminal, a decision also belongs to the record; a developer reads the command's own output.
    securityLogger: logAt(config.production ? "info" : "warn"),
    limiter: null,
  });
}

/** Returns an action that connects to the services of a running Rebid, runs `work` with them, and disconnects. */
export function withServices<Result>(work: (services: Services) => Promise<Result>): () => Promise<Result> {
  return async () => {
    const { services, close } = await openServices();
    try {
      return await work(services);
    } finally {
      await close();
    }
  };
}
