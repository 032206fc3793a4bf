import type { BackingServiceSettings } from "../backingServices.ts";
import { type Config, ConfigError } from "../config.ts";
import { readLocalState } from "./dataDirectory/own.ts";
import type { LocalState } from "./dataDirectory/state.ts";

/**
 * Returns the settings of the backing services of the Rebid that runs on this data directory: configured ones and, for
 * the rest, embedded ones. `serviceUrl` is null until the service is ready. For the project's commands.
 * @throws ConfigError when no service is running there and the configuration is not complete
 */
export function findRunning(config: Config): { settings: BackingServiceSettings; serviceUrl: string | null } {
  const state = readLocalState(config.dataDirectory);
  return { settings: settingsOf(config, state), serviceUrl: state?.serviceUrl ?? null };
}

/** Returns the URL of the service on this data directory, or null if none is ready. */
export function findServiceUrl(dataDirectory: string): string | null {
  return readLocalState(dataDirectory)?.serviceUrl ?? null;
}

/**
 * Returns the configured settings, completed with the URLs and keys of the embedded services.
 * @throws ConfigError when settings are missing and no embedded service provides them
 */
export function settingsOf(config: Config, state: LocalState | null): BackingServiceSettings {
  const databaseUrl = config.databaseUrl ?? state?.databaseUrl;
  const sessionSecrets = config.sessionSecrets ?? (state?.sessionSecret ? [state.sessionSecret] : null);
  const processor = config.processor ?? (state?.processor ? processorSettingsOf(state.processor) : null);
  const storage = config.storage ?? state?.s3 ?? null;
  if (!databaseUrl || !sessionSecrets || !processor || !storage) {
    throw new ConfigError(
      `No Rebid is running on ${config.dataDirectory}, or it is still starting. Start it first, with \`npm start\`.`,
    );
  }
  return { databaseUrl, sessionSecrets, processor, storage, mail: config.mail ?? state?.mail ?? null };
}

/**
 * Whether the service's time can be moved forward. The processor has to be embedded too: another one's records would stay in
 * the present.
 */
export function hasTestClock({ production, databaseUrl, processor }: Config): boolean {
  return !production && databaseUrl === null && processor === null;
}

/** Returns the URL of the role that applies migrations. */
export function ownerUrlOf(config: Config, state: LocalState | null, databaseUrl: string): string {
  if (config.databaseUrl !== null) return config.databaseOwnerUrl ?? config.databaseUrl;
  return state?.databaseOwnerUrl ?? databaseUrl;
}

function processorSettingsOf({ apiBase, secretKey, webhookSecret }: NonNullable<LocalState["processor"]>) {
  return { secretKey, webhookSecrets: [webhookSecret], apiBase };
}
