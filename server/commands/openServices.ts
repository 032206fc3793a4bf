import { pino } from "pino";
import { readConfig } from "../config.ts";
import { openDatabase } from "../db/database.ts";
import { systemClock } from "../gateways/clock.ts";
import { guardedEgress } from "../gateways/egress.ts";
import { stripeProcessor } from "../gateways/processor.ts";
import { s3Storage } from "../gateways/storage.ts";
import { readLocalState } from "../local/dataDirectory.ts";
import { settingsOf } from "../parts.ts";
import type { Services } from "../services.ts";

/**
 * The services of a running Rebid, for a command beside it: the same settings as the service, and the embedded parts
 * found through the data directory. Throws ConfigError when nothing runs and nothing is set.
 */
export async function openServices(): Promise<{ services: Services; close(): Promise<void> }> {
  const config = readConfig(process.env);
  const state = readLocalState(config.dataDirectory);
  const { databaseUrl, sessionSecret, processor, storage } = settingsOf(config, state);
  const database = openDatabase(databaseUrl, { poolSize: 4 });
  const services: Services = {
    settings: {
      ...config,
      sessionSecret,
      publicUrl: config.publicUrl ?? state?.serviceUrl ?? `http://localhost:${config.port}`,
    },
    database,
    clock: systemClock,
    processor: stripeProcessor({ ...processor, webhookSecrets: [...processor.webhookSecrets] }),
    storage: s3Storage(storage),
    egress: guardedEgress({ allowInsecure: config.webhookAllowInsecure }),
    log: pino({ level: "warn", serializers: { error: pino.stdSerializers.err } }, pino.destination(2)),
  };
  return {
    services,
    async close() {
      services.storage.close();
      await services.egress.close();
      await database.close();
    },
  };
}
