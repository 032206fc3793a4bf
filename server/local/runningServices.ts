import type { BackingServiceSettings } from "../backingServices.ts";
import { type Config, ConfigError } from "../config.ts";
import { type LocalState, readLocalState } from "./dataDirectory/claim.ts";

/**
 * The backing services of the Rebid that runs on this data directory: what the settings name, and the embedded ones for
 * the rest; with its address once it answers. For the project's other commands.
 * @throws ConfigError when nothing runs there and the settings do not name everything.
 */
export function findRunning(config: Config): { settings: BackingServiceSettings; serviceUrl: string | null } {
  const state = readLocalState(config.dataDirectory);
  return { settings: settingsOf(config, state), serviceUrl: state?.serviceUrl ?? null };
}

/** The address of the service on this data directory; null when none answers. */
export function findServiceUrl(dataDirectory: string): string | null {
  return readLocalState(dataDirectory)?.serviceUrl ?? null;
}

/** What was set, completed with the addresses and keys of the embedded services. */
export function settingsOf(config: Config, state: LocalState | null): BackingServiceSettings {
  const databaseUrl = config.databaseUrl ?? state?.databaseUrl;
  const sessionSecret = config.sessionSecret ?? state?.sessionSecret;
  const processor = config.processor ?? (state?.processor ? processorSettingsOf(state.processor) : null);
  const storage = config.storage ?? state?.s3 ?? null;
  if (!databaseUrl || !sessionSecret || !processor || !storage) {
    throw new ConfigError(
      `No Rebid is running on ${config.dataDirectory}, or it is still starting. Start it first, with \`npm start\`.`,
    );
  }
  return { databaseUrl, sessionSecret, processor, storage };
}

function processorSettingsOf({ apiBase, secretKey, webhookSecret }: NonNullable<LocalState["processor"]>) {
  return { secretKey, webhookSecrets: [webhookSecret], apiBase };
}
