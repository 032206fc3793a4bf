import { randomUUID } from "node:crypto";
import type { Config } from "./config.ts";
import type { ProcessorSettings } from "./gateways/processor.ts";
import type { StorageSettings } from "./gateways/storage.ts";

/** Addresses and keys of the database, the payment processor and the object store, and the secret that seals sessions. */
export interface BackingServiceSettings {
  databaseUrl: string;
  sessionSecret: string;
  processor: ProcessorSettings;
  storage: StorageSettings;
}

/** The backing services of a running process: those in the settings, and embedded ones for the rest. */
export interface BackingServices extends BackingServiceSettings {
  /** The role that applies migrations; the same as `databaseUrl` when there is only one. */
  databaseOwnerUrl: string;
  /** Records the service's URL in the data directory, where commands look it up. Call it once the service responds. */
  announce(serviceUrl: string): void;
  /** Stops the embedded services that were started for this process, the database last. */
  stop(): Promise<void>;
}

/** Backing services that run elsewhere: there is nothing to announce or to stop. */
export function external(settings: BackingServiceSettings, databaseOwnerUrl: string): BackingServices {
  return { ...settings, databaseOwnerUrl, announce: () => {}, stop: async () => {} };
}

/** Returns the backing services if the settings name all of them, or null if embedded ones are needed. */
export function configuredBackingServices(config: Config): BackingServices | null {
  const { databaseUrl, processor, storage } = config;
  // A worker does not use the secret, because it seals no sessions.
  const sessionSecret = config.sessionSecret ?? (config.role === "worker" ? randomUUID() : null);
  return databaseUrl && sessionSecret && processor && storage
    ? external({ databaseUrl, sessionSecret, processor, storage }, config.databaseOwnerUrl ?? databaseUrl)
    : null;
}
