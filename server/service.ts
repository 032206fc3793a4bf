import type { Logger } from "pino";
import { applyMigrations } from "../prisma/migrate.ts";
import { createApp } from "./app.ts";
import type { Config } from "./config.ts";
import { openDatabase } from "./db/database.ts";
import { type Clock, systemClock } from "./gateways/clock.ts";
import { guardedEgress } from "./gateways/egress.ts";
import { stripeProcessor } from "./gateways/processor.ts";
import { s3Storage } from "./gateways/storage.ts";
import { serve } from "./http/server.ts";
import { migrateJobs, startWorker } from "./jobs/worker.ts";
import { freePort } from "./local/dataDirectory.ts";
import { givenParts, type Parts } from "./parts.ts";
import type { Services } from "./services.ts";

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

/** Loaded only when needed: what the embedded parts are made of is not there in a production installation. */
async function startLocalParts(config: Config, eventsUrl: string, log: Logger): Promise<Parts> {
  const { provideParts } = await import("./local/localParts.ts");
  return provideParts(config, eventsUrl, log);
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
    const port = config.port === 0 ? await freePort() : config.port;
    const publicUrl = config.publicUrl ?? `http://localhost:${port}`;
    const eventsUrl = `${ownAddress(config.host, port)}/processor/events`;
    const parts = givenParts(config) ?? (await startLocalParts(config, eventsUrl, log));
    stops.push(parts.stop);
    await applyMigrations(parts.databaseUrl);

    const database = openDatabase(parts.databaseUrl, { poolSize: POOL_SIZE });
    stops.push(database.close);
    const storage = s3Storage(parts.storage);
    stops.push(async () => storage.close());
    const egress = guardedEgress({ allowInsecure: config.webhookAllowInsecure });
    stops.push(egress.close);
    const services: Services = {
      settings: { ...config, publicUrl, sessionSecret: parts.sessionSecret },
      database,
      clock,
      processor: stripeProcessor({ ...parts.processor, webhookSecrets: [...parts.processor.webhookSecrets] }),
      storage,
      egress,
      log,
    };
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
    parts.announce(ownAddress(config.host, port));
    return { url: publicUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
