import { randomUUID } from "node:crypto";
import type { Config } from "./config.ts";
import type { MailSettings } from "./gateways/mail.ts";
import type { ProcessorSettings } from "./gateways/processor.ts";
import type { StorageSettings } from "./gateways/storage.ts";

/** Addresses and keys of the database, the payment processor, the object store and the mail server, and what encrypts sessions. */
export interface BackingServiceSettings {
  databaseUrl: string;
  /** The newest first: it encrypts, and each of them decrypts. */
  sessionSecrets: readonly string[];
  processor: ProcessorSettings;
  storage: StorageSettings;
  /** Null when no mails are sent. */
  mail: MailSettings | null;
}

/** The backing services of a running process: those in the settings, and embedded ones for the rest. */
export interface BackingServices extends BackingServiceSettings {
  /** The role that applies migrations; the same as `databaseUrl` when there is only one. */
  databaseOwnerUrl: string;
  /** Whether the service's time can be moved forward: only where database and payment processor are embedded. */
  hasTestClock: boolean;
  /** Records the service's URL in the data directory, where commands look it up. Call it once the service responds. */
  announce(serviceUrl: string): void;
  /** Stops the embedded services that were started for this process, the database last. */
  stop(): Promise<void>;
}

/** Backing services that run elsewhere: there is nothing to announce or to stop. */
export function external(settings: BackingServiceSettings, databaseOwnerUrl: string): BackingServices {
  return { ...settings, databaseOwnerUrl, hasTestClock: false, announce: () => {}, stop: async () => {} };
}

/** Returns the backing services if the settings name all of them, or null if embedded ones are needed. */
export function configuredBackingServices(config: Config): BackingServices | null {
  const { databaseUrl, processor, storage, mail } = config;
  // A worker does not use the secrets, because it encrypts no sessions.
  const sessionSecrets = config.sessionSecrets ?? (config.role === "worker" ? [randomUUID()] : null);
  return databaseUrl && sessionSecrets && processor && storage
    ? external({ databaseUrl, sessionSecrets, processor, storage, mail }, config.databaseOwnerUrl ?? databaseUrl)
    : null;
}
