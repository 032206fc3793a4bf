import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type BackingServices, external } from "../backingServices.ts";
import { type Config, ConfigError } from "../config.ts";
import { claimDataDirectory, type DataDirectory, readLocalState } from "./dataDirectory/claim.ts";
import { freePort } from "./freePort.ts";
import { startObjectStore } from "./objectStore/start.ts";
import { keepPostgresRunning } from "./postgres/start.ts";
import { startProcessor } from "./processor/start.ts";
import { findRunning, findServiceUrl, settingsOf } from "./runningServices.ts";

const secret = () => randomBytes(32).toString("hex");
const portOf = (url: string | undefined) => (url === undefined ? undefined : Number(new URL(url).port));

export { findRunning, findServiceUrl };

/** How long a lone `api` or `worker` waits for the service on its data directory to be ready: longer than a recovery. */
const JOIN_TIMEOUT_MS = 60_000;
const ALONE_AFTER_MS = 3_000;

/**
 * Starts an embedded part for each that the settings do not name. The process that does so owns the data directory.
 * An `api` joins the parts of a service that runs on the same directory already; a `worker` always joins, and waits for
 * that service, since the embedded processor has to know where the events go. `eventsUrl` is that address.
 */
export async function startLocal(config: Config, eventsUrl: string, log: Logger): Promise<BackingServices> {
  const claim = config.role === "all" ? await claimDataDirectory(config.dataDirectory) : await claimOrJoin(config);
  if (claim !== null) return startParts(config, claim, eventsUrl, log);
  const settings = settingsOf(config, readLocalState(config.dataDirectory));
  return external(settings);
}

/** The data directory if it is ours now, or null when a service on it is ready. Several may come at the same moment. */
async function claimOrJoin({ role, dataDirectory, databaseUrl }: Config): Promise<DataDirectory | null> {
  const startedAt = Date.now();
  for (;;) {
    const running = readLocalState(dataDirectory);
    if (running?.serviceUrl) return null;
    const waitedMs = Date.now() - startedAt;
    // A worker on a database of its own may be alone on this directory for good.
    const isAlone = role === "api" || (databaseUrl !== null && waitedMs > ALONE_AFTER_MS);
    if (running === null && isAlone) {
      const claim = await claimDataDirectory(dataDirectory).catch((error: unknown) => {
        // Another process was faster; whatever else is wrong is not cured by waiting.
        if (readLocalState(dataDirectory) === null) throw error;
        return null;
      });
      if (claim !== null) return claim;
    }
    if (waitedMs > JOIN_TIMEOUT_MS) {
      throw new ConfigError(
        `No service became ready on ${dataDirectory}. Start one with \`npm start\` or ROLE=api first, or set ` +
          "DATABASE_URL and the keys of the object store and the payment processor.",
      );
    }
    await sleep(100);
  }
}

async function startParts(
  config: Config,
  claim: DataDirectory,
  eventsUrl: string,
  log: Logger,
): Promise<BackingServices> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    // In the reverse order of their start, and each whatever becomes of the others.
    for (const stopPart of stops.toReversed())
      await stopPart().catch((error: unknown) => log.error({ error }, "stopping a part failed"));
    claim.release();
  };
  try {
    const state = claim.state();
    claim.update({ sessionSecret: state.sessionSecret ?? secret() });
    await Promise.all([
      config.databaseUrl ? null : startDatabase(claim, log, stops),
      config.storage ? null : startStore(claim, stops),
      config.processor ? null : startPayments(claim, eventsUrl, stops),
    ]);
    return {
      ...settingsOf(config, claim.state()),
      announce: (serviceUrl) => {
        claim.update({ serviceUrl });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startDatabase(claim: DataDirectory, log: Logger, stops: (() => Promise<void>)[]): Promise<void> {
  const { url, stop } = await keepPostgresRunning({
    directory: claim.directory,
    previousUrl: claim.state().databaseUrl,
    log: (message) => log.debug(message),
  });
  stops.unshift(stop);
  claim.update({ databaseUrl: url });
}

async function startStore(claim: DataDirectory, stops: (() => Promise<void>)[]): Promise<void> {
  const previous = claim.state().s3;
  const settings = {
    bucket: "rebid",
    region: "us-east-1",
    accessKeyId: previous?.accessKeyId ?? `local${randomBytes(8).toString("hex")}`,
    secretAccessKey: previous?.secretAccessKey ?? secret(),
  };
  const port = await freePort(portOf(previous?.endpoint));
  const { url, stop } = await startObjectStore({ directory: join(claim.directory, "objects"), port, ...settings });
  stops.push(stop);
  claim.update({ s3: { endpoint: url, ...settings } });
}

async function startPayments(claim: DataDirectory, eventsUrl: string, stops: (() => Promise<void>)[]): Promise<void> {
  const previous = claim.state().processor;
  const settings = {
    secretKey: previous?.secretKey ?? `sk_test_${secret()}`,
    webhookSecret: previous?.webhookSecret ?? `whsec_${secret()}`,
  };
  const port = await freePort(portOf(previous?.apiBase));
  const directory = join(claim.directory, "processor");
  const { url, stop } = await startProcessor({ directory, port, eventsUrl, ...settings });
  stops.push(stop);
  claim.update({ processor: { apiBase: url, ...settings } });
}
