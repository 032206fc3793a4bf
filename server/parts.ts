import { randomUUID } from "node:crypto";
import { type Config, ConfigError, type ProcessorConfig, type StorageConfig } from "./config.ts";
import type { LocalState } from "./local/dataDirectory.ts";

/** The addresses and keys of what the service stands on, whoever gave them. */
export interface PartsSettings {
  databaseUrl: string;
  sessionSecret: string;
  processor: ProcessorConfig;
  storage: StorageConfig;
}

/** What the service stands on while it runs: what was set, and the embedded parts for the rest. */
export interface Parts extends PartsSettings {
  /** To be called when the service answers: the project's other commands find it through the data directory. */
  announce(serviceUrl: string): void;
  /** Stops what was started for the service, the database last. */
  stop(): Promise<void>;
}

/** Parts that somebody else runs. */
export function partsOf(settings: PartsSettings): Parts {
  return { ...settings, announce: () => {}, stop: async () => {} };
}

/** The parts when the settings name all of them, else null: then embedded ones are needed. */
export function givenParts(config: Config): Parts | null {
  const { databaseUrl, processor, storage } = config;
  // A worker seals no session.
  const sessionSecret = config.sessionSecret ?? (config.role === "worker" ? randomUUID() : null);
  return databaseUrl && sessionSecret && processor && storage
    ? partsOf({ databaseUrl, sessionSecret, processor, storage })
    : null;
}

/** What was set, and the running parts' addresses for the rest. Also for the project's other commands. */
export function settingsOf(config: Config, state: LocalState | null): PartsSettings {
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
