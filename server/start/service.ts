import getPort from "get-port";
import type { Logger } from "pino";
import { applyMigrations } from "../../prisma/migrate.ts";
import { type BackingServices, configuredBackingServices } from "../backingServices.ts";
import type { Config } from "../config.ts";
import { type Clock, systemClock } from "../gateways/clock.ts";
import { createApp } from "../http/app.ts";
import { serve } from "../http/server.ts";
import { migrateJobs, startWorker } from "../jobs/worker.ts";
import { createServices, loadEmbedded } from "../services.ts";

/** Connections of one process at most. */
const POOL_SIZE = 20;
/** Jobs that run side by side in one process. */
const WORKER_CONCURRENCY = 8;

export interface RunningService {
  /** The service's own address, or null for a lone worker, which serves nothing. */
  url: string | null;
  /** Finishes what is in flight: requests and jobs side by side, then connections, then embedded parts. */
  stop(): Promise<void>;
}

const wildcards = new Set(["0.0.0.0", "::"]);

/** Where this machine reaches the service. "localhost" may be 127.0.0.1 or ::1; a client tries both. */
export function ownAddress(host: string | null, port: number): string {
  if (host === null || wildcards.has(host)) return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function startEmbedded(config: Config, eventsUrl: string, log: Logger): Promise<BackingServices> {
  const { startLocal } = await loadEmbedded();
  return startLocal(config, eventsUrl, log);
}

/** Starts what the role needs; when a part fails to start, those before it are stopped again. */
export async function startService(config: Config, log: Logger, clock: Clock = systemClock): Promise<RunningService> {
  const stops: (() => Promise<void>)[] = [];
  const busy: (() => Promise<void>)[] = [];
  const stopPart = (part: () => Promise<void>) =>
    part().catch((error: unknown) => log.error({ error }, "a part did not stop well"));
  const stop = async () => {
    await Promise.all(busy.map(stopPart));
    for (const part of stops.toReversed()) await stopPart(part);
  };
  try {
    const port = config.port === 0 ? await getPort() : config.port;
    const publicUrl = config.publicUrl ?? `http://localhost:${port}`;
    const eventsUrl = `${ownAddress(config.host, port)}/processor/events`;
    const backing = configuredBackingServices(config) ?? (await startEmbedded(config, eventsUrl, log));
    stops.push(backing.stop);
    await applyMigrations(backing.databaseUrl);

    const settings = { ...config, publicUrl };
    const { services, close } = createServices(backing, { settings, poolSize: POOL_SIZE, log, clock });
    stops.push(close);
    await migrateJobs(services);
    if (config.role !== "api") {
      const worker = await startWorker(services, { concurrency: WORKER_CONCURRENCY });
      busy.push(worker.stop);
    }
    if (config.role === "worker") return { url: null, stop };
    // Not "localhost", which may be ::1 alone: whoever asks for that name tries both addresses.
    const host = config.host ?? (config.production ? undefined : "127.0.0.1");
    const server = await serve(createApp(services, config), port, host);
    busy.push(server.stop);
    backing.announce(ownAddress(config.host, port));
    return { url: publicUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
