import getPort from "get-port";
import type { Logger } from "pino";
import { type BackingServices, configuredBackingServices } from "../backingServices.ts";
import type { Config } from "../config.ts";
import { loadEmbedded } from "../embedded.ts";
import { MovableClock } from "../gateways/clock.ts";

/** What a service stands on. */
export interface Ground {
  /** The port that the service will listen on. */
  port: number;
  clock: MovableClock;
  /** The schema of its database is up to date. */
  backing: BackingServices;
}

const wildcards = new Set(["0.0.0.0", "::"]);

/** Returns the service's address on this machine. "localhost" may be 127.0.0.1 or ::1; clients try both. */
export function ownAddress(host: string | null, port: number): string {
  if (host === null || wildcards.has(host)) return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * Starts an embedded service for each backing service that is not configured, and brings the schema up to date. Needs few of
 * the service's modules. Resolves when Postgres runs, in a process of its own, to what tells when all is ready, because
 * loading the other modules meanwhile would keep it from beginning: a warm start took 7 % more time (measured), and start
 * is to keep nine tenths of its speed.
 */
export async function prepareGround(config: Config, log: Logger): Promise<{ isReady: Promise<Ground> }> {
  const launched = Promise.withResolvers<void>();
  const isReady = readyGround(config, log, launched.resolve);
  await Promise.race([launched.promise, isReady]);
  return { isReady };
}

async function readyGround(config: Config, log: Logger, onLaunch: () => void): Promise<Ground> {
  const port = config.port === 0 ? await getPort() : config.port;
  const clock = new MovableClock();
  const configured = configuredBackingServices(config);
  if (configured) onLaunch();
  const eventsUrl = `${ownAddress(config.host, port)}/processor/events`;
  const backing = configured ?? (await (await loadEmbedded()).startLocal(config, { eventsUrl, log, clock, onLaunch }));
  try {
    await prepareSchema(backing, config, log);
  } catch (error) {
    await backing.stop();
    throw error;
  }
  return { port, clock, backing };
}

/** Migrates, except in production: there, `npm run migrate` does so, with rights that the service should not have. */
async function prepareSchema(backing: BackingServices, { production }: Config, log: Logger): Promise<void> {
  const { checkSchema, migrateDatabase } = await import("../store/schema.ts");
  if (!production) {
    await migrateDatabase(backing.databaseOwnerUrl, backing.databaseUrl, { testClock: backing.hasTestClock });
    return;
  }
  const { roleOwnsSchema, newer } = await checkSchema(backing.databaseUrl);
  if (newer.length > 0) {
    log.warn(
      { newer },
      "the database's schema is that of a newer release: it fits only if that is the next one after this",
    );
  }
  if (roleOwnsSchema) {
    log.warn(
      "the database role of DATABASE_URL may change the schema, and with it the ledger's guards: give the service a role " +
        "of its own, as docs/guides/production.md describes",
    );
  }
}
