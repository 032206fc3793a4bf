import { pino } from "pino";
import { configuredBackingServices } from "../backingServices.ts";
import { readConfig } from "../config.ts";
import { createServices, loadEmbedded, type Services } from "../services.ts";

/** Connections of a command at most. */
const POOL_SIZE = 4;

/**
 * The services of a running Rebid, for a command beside it: the same settings as the service, and the embedded services
 * found through the data directory. Throws ConfigError when nothing runs and not everything is set.
 */
export async function openServices(): Promise<{ services: Services; close(): Promise<void> }> {
  const config = readConfig(process.env);
  const configured = configuredBackingServices(config);
  const { settings: backing, serviceUrl } =
    configured !== null ? { settings: configured, serviceUrl: null } : (await loadEmbedded()).findRunning(config);
  const publicUrl = config.publicUrl ?? serviceUrl ?? `http://localhost:${config.port}`;
  const log = pino({ level: "warn", serializers: { error: pino.stdSerializers.err } }, pino.destination(2));
  return createServices(backing, { settings: { ...config, publicUrl }, poolSize: POOL_SIZE, log });
}
