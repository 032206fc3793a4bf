import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";
import { createApp } from "../../server/http/app.ts";
import { type LimiterOptions, openLimiter } from "../../server/limits/limiter.ts";
import { type Database, openDatabase } from "../../server/store/database.ts";
import { type TestService, watched } from "../setup/testService.ts";

/** Another process of the service, as far as rate limits can tell: connections and memory of its own, the same database. */
export interface Instance {
  url: string;
  database: Database;
}

/**
 * Returns a function that starts instances of a service, each with a limiter. They trust one proxy unless told otherwise,
 * so that a test chooses a request's address with `from`.
 */
export function useInstances(service: TestService) {
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  return async (options: LimiterOptions & { trustProxy?: number | string | false } = {}): Promise<Instance> => {
    const database = openDatabase(service.databaseUrl, { poolSize: 5 });
    stops.push(database.close);
    const limiter = openLimiter(database, service.services.log, options);
    const app = createApp({ ...service.services, database, limiter }, { trustProxy: options.trustProxy ?? 1 });
    const server = createServer({ keepAliveTimeout: 120_000 }, watched(service, app));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    stops.push(async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, database };
  };
}

/** The header with which a proxy names the client's address. */
export const from = (address: string) => ({ "x-forwarded-for": address });
