import { ConfigError } from "./config.ts";

/**
 * Loads `server/local`. Call this only when the settings do not name every backing service: a production process runs
 * without that folder and its packages.
 * @throws ConfigError when they are not installed.
 */
export async function loadEmbedded() {
  try {
    return await import("./local/start.ts");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new ConfigError(
      "The embedded services are not installed: `npm ci --omit=dev` leaves them out. Run `npm install`, or set " +
        "DATABASE_URL, SESSION_SECRET, and the keys of the object store (S3_…) and the payment processor (STRIPE_…).",
      { cause: error },
    );
  }
}
