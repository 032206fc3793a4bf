import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type BackingServices, external } from "../backingServices.ts";
import { type Config, ConfigError } from "../config.ts";
import type { Clock } from "../gateways/clock.ts";
import { type DataDirectory, ownDataDirectory, readLocalState } from "./dataDirectory/own.ts";
import { ensureServiceRole } from "./postgres/serviceRole.ts";
import { keepPostgresRunning } from "./postgres/start.ts";
import { findRunning, findServiceUrl, hasTestClock, ownerUrlOf, settingsOf } from "./runningServices.ts";

const secret = () => randomBytes(32).toString("hex");
const portOf = (url: string | undefined) => (url === undefined ? undefined : Number(new URL(url).port));

export { findRunning, findServiceUrl };

/** How long an `api` or `worker` waits until the service on its data directory is ready. A recovery takes less. */
const JOIN_TIMEOUT_MS = 60_000;

/** How long a worker with a configured database waits for an owner before it becomes the owner itself. */
const ALONE_AFTER_MS = 3_000;

interface LocalOptions {
  /** The URL that the embedded processor posts events to. */
  eventsUrl: string;
  log: Logger;
  /** What the embedded processor goes by. */
  clock: Clock;
  /** Is called once Postgres runs beside this process, or when it is not started here. */
  onLaunch: () => void;
}

/**
 * Starts an embedded service for each backing service that is not configured. The process that starts them owns the
 * data directory. An `api` joins a service that is already running on the same directory. A `worker` waits for that
 * service and joins it, because the embedded processor must know the URL that events are posted to.
 * @throws ConfigError when another process owns the directory, or when no service to join becomes ready
 */
export async function startLocal(config: Config, options: LocalOptions): Promise<BackingServices> {
  const owned = config.role === "all" ? await ownDataDirectory(config.dataDirectory) : await ownOrJoin(config);
  if (owned !== null) return startServices(config, owned, options);
  options.onLaunch();
  const state = readLocalState(config.dataDirectory);
  const settings = settingsOf(config, state);
  const databaseOwnerUrl = ownerUrlOf(config, state, settings.databaseUrl);
  return { ...external(settings, databaseOwnerUrl), hasTestClock: hasTestClock(config) };
}

/** Makes this process the owner of the data directory, or returns null when a service on it is ready. Several processes may do so at once. */
async function ownOrJoin({ role, dataDirectory, databaseUrl }: Config): Promise<DataDirectory | null> {
  const startedAt = Date.now();
  for (;;) {
    const running = readLocalState(dataDirectory);
    if (running?.serviceUrl) return null;
    const waitedMs = Date.now() - startedAt;
    // A worker with a configured database may be the only process that ever uses this directory.
    const isAlone = role === "api" || (databaseUrl !== null && waitedMs > ALONE_AFTER_MS);
    if (running === null && isAlone) {
      const owned = await ownDataDirectory(dataDirectory).catch((error: unknown) => {
        // If another process was faster, wait for it. Any other error would not go away.
        if (readLocalState(dataDirectory) === null) throw error;
        return null;
      });
      if (owned !== null) return owned;
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

async function startServices(
  config: Config,
  owned: DataDirectory,
  { eventsUrl, log, clock, onLaunch }: LocalOptions,
): Promise<BackingServices> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    // In reverse order, and each one even if another fails to stop.
    for (const stopService of stops.toReversed())
      await stopService().catch((error: unknown) => log.error({ error }, "stopping an embedded service failed"));
    owned.release();
  };
  try {
    const state = owned.state();
    owned.update({ sessionSecret: state.sessionSecret ?? secret() });
    await Promise.all([
      config.databaseUrl ? onLaunch() : startDatabase(owned, { log, onLaunch }, stops),
      config.storage ? null : startStorage(owned, stops),
      config.processor ? null : startPayments(owned, eventsUrl, clock, stops),
      config.mail ? null : startMail(owned, config.mailFrom, stops),
    ]);
    const settings = settingsOf(config, owned.state());
    return {
      ...settings,
      databaseOwnerUrl: ownerUrlOf(config, owned.state(), settings.databaseUrl),
      hasTestClock: hasTestClock(config),
      announce: (serviceUrl) => {
        owned.update({ serviceUrl });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startDatabase(
  owned: DataDirectory,
  { log, onLaunch }: Pick<LocalOptions, "log" | "onLaunch">,
  stops: (() => Promise<void>)[],
): Promise<void> {
  const { databaseUrl, databaseOwnerUrl } = owned.state();
  const { url, stop } = await keepPostgresRunning({
    directory: owned.directory,
    previousUrl: databaseOwnerUrl ?? databaseUrl,
    log: (message) => log.debug(message),
    onLaunch,
  });
  stops.unshift(stop);
  owned.update({ databaseOwnerUrl: url, databaseUrl: await ensureServiceRole(url, databaseUrl) });
}

async function startStorage(owned: DataDirectory, stops: (() => Promise<void>)[]): Promise<void> {
  const { startObjectStore } = await import("./objectStore/start.ts");
  const previous = owned.state().s3;
  const settings = {
    bucket: "rebid",
    region: "us-east-1",
    accessKeyId: previous?.accessKeyId ?? `local${randomBytes(8).toString("hex")}`,
    secretAccessKey: previous?.secretAccessKey ?? secret(),
  };
  const { url, stop } = await startObjectStore({
    directory: join(owned.directory, "objects"),
    preferredPort: portOf(previous?.endpoint),
    ...settings,
  });
  stops.push(stop);
  owned.update({ s3: { endpoint: url, ...settings } });
}

async function startPayments(
  owned: DataDirectory,
  eventsUrl: string,
  clock: Clock,
  stops: (() => Promise<void>)[],
): Promise<void> {
  const { startProcessor } = await import("./processor/start.ts");
  const previous = owned.state().processor;
  const settings = {
    secretKey: previous?.secretKey ?? `sk_test_${secret()}`,
    webhookSecret: previous?.webhookSecret ?? `whsec_${secret()}`,
  };
  const { url, stop } = await startProcessor({
    directory: join(owned.directory, "processor"),
    preferredPort: portOf(previous?.apiBase),
    eventsUrl,
    clock,
    ...settings,
  });
  stops.push(stop);
  owned.update({ processor: { apiBase: url, ...settings } });
}

async function startMail(owned: DataDirectory, from: string, stops: (() => Promise<void>)[]): Promise<void> {
  const { startMailbox } = await import("./mailbox/start.ts");
  const previous = owned.state().mail;
  const { smtpUrl, pageUrl, stop } = await startMailbox({
    directory: join(owned.directory, "mailbox"),
    preferredPorts: { smtp: portOf(previous?.smtpUrl), page: portOf(previous?.pageUrl) },
  });
  stops.push(stop);
  owned.update({ mail: { smtpUrl, from, pageUrl } });
}
