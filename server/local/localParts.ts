import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Config, ConfigError, type ProcessorConfig, type StorageConfig } from "../config.ts";
import { claimDataDirectory, type DataDirectory, freePort, type LocalState, readLocalState } from "./dataDirectory.ts";
import { startObjectStore } from "./objectStore.ts";
import { startPostgres } from "./postgres.ts";
import { startProcessor } from "./processor/start.ts";

/** The addresses and keys that the service runs with: those that were set, and the embedded parts' for the others. */
export interface Parts {
  databaseUrl: string;
  sessionSecret: string;
  processor: ProcessorConfig;
  storage: StorageConfig;
  /** To be called when the service answers: the project's other commands find it through the data directory. */
  announce(serviceUrl: string): void;
  /** Stops what was started here, the database last. */
  stop(): Promise<void>;
}

type Settings = Pick<Parts, "databaseUrl" | "sessionSecret" | "processor" | "storage">;

const secret = () => randomBytes(32).toString("hex");
const portOf = (url: string | undefined) => (url === undefined ? undefined : Number(new URL(url).port));

/** How long a lone `api` or `worker` waits for the service on its data directory to be ready: longer than a recovery. */
const JOIN_TIMEOUT_MS = 60_000;

/**
 * Starts an embedded part for each that the settings do not name. The process that does so owns the data directory.
 * An `api` joins the parts of a service that runs on the same directory already; a `worker` always joins, and waits for
 * that service, since the embedded processor has to know where the events go. `eventsUrl` is that address.
 */
export async function provideParts(config: Config, eventsUrl: string, log: Logger): Promise<Parts> {
  const { databaseUrl, processor, storage } = config;
  // A worker seals no session.
  const sessionSecret = config.sessionSecret ?? (config.role === "worker" ? secret() : null);
  if (databaseUrl && sessionSecret && processor && storage) {
    return { databaseUrl, sessionSecret, processor, storage, announce: () => {}, stop: async () => {} };
  }
  const claim = config.role === "all" ? await claimDataDirectory(config.dataDirectory) : await claimOrJoin(config);
  if (claim !== null) return startParts(config, claim, eventsUrl, log);
  const settings = settingsOf(config, readLocalState(config.dataDirectory));
  return { ...settings, announce: () => {}, stop: async () => {} };
}

/** The data directory if it is ours now, or null when a service on it is ready. Several may come at the same moment. */
async function claimOrJoin({ role, dataDirectory }: Config): Promise<DataDirectory | null> {
  const deadline = Date.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    const running = readLocalState(dataDirectory);
    if (running?.serviceUrl) return null;
    if (running === null && role === "api") {
      const claim = await claimDataDirectory(dataDirectory).catch((error: unknown) => {
        // Another process was faster; whatever else is wrong is not cured by waiting.
        if (readLocalState(dataDirectory) === null) throw error;
        return null;
      });
      if (claim !== null) return claim;
    }
    if (Date.now() > deadline) {
      throw new ConfigError(
        `No service became ready on ${dataDirectory}. Start one with \`npm start\` or ROLE=api first, or set ` +
          "DATABASE_URL and the keys of the object store and the payment processor.",
      );
    }
    await sleep(100);
  }
}

/** What was set, and the running parts' addresses for the rest. Also for the project's other commands. */
export function settingsOf(config: Config, state: LocalState | null): Settings {
  const databaseUrl = config.databaseUrl ?? state?.databaseUrl;
  const sessionSecret = config.sessionSecret ?? state?.sessionSecret;
  const processor = config.processor ?? (state?.processor ? processorConfigOf(state.processor) : null);
  const storage = config.storage ?? state?.s3 ?? null;
  if (!databaseUrl || !sessionSecret || !processor || !storage) {
    throw new ConfigError(
      `The service on ${config.dataDirectory} does not run, or is still starting: start it with \`npm start\` first.`,
    );
  }
  return { databaseUrl, sessionSecret, processor, storage };
}

function processorConfigOf({
  apiBase,
  secretKey,
  webhookSecret,
}: NonNullable<LocalState["processor"]>): ProcessorConfig {
  return { secretKey, webhookSecrets: [webhookSecret], apiBase };
}

async function startParts(config: Config, claim: DataDirectory, eventsUrl: string, log: Logger): Promise<Parts> {
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
  const { url, stop } = await startPostgres({
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
