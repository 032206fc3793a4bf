import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/**
 * The state of the embedded services that must survive a restart, and the addresses that other commands need. It is
 * filled in steps while the service starts, and contains only the services that are embedded. Their ports and secrets
 * stay the same across restarts; `pid` and `serviceUrl` belong to one run.
 */
export const LocalState = z.object({
  pid: z.int().positive(),
  /** Set last, when the service is ready. Until then, the other fields may be from the previous run. */
  serviceUrl: z.url().optional(),
  /** The role that the service uses. Written by an earlier version, it is the owner. */
  databaseUrl: z.url().optional(),
  /** The role that owns the schema, a superuser. */
  databaseOwnerUrl: z.url().optional(),
  s3: z
    .object({
      endpoint: z.url(),
      bucket: z.string(),
      region: z.string(),
      accessKeyId: z.string(),
      secretAccessKey: z.string(),
    })
    .optional(),
  processor: z.object({ apiBase: z.url(), secretKey: z.string(), webhookSecret: z.string() }).optional(),
  /** `pageUrl` shows the mails. */
  mail: z.object({ smtpUrl: z.url(), from: z.string(), pageUrl: z.url() }).optional(),
  sessionSecret: z.string().min(32).optional(),
});
export type LocalState = z.infer<typeof LocalState>;

/**
 * Reads the state of the last run, or returns null if there is none.
 * @throws Error naming the file when its content is invalid
 */
export function readState(directory: string): LocalState | null {
  const file = stateFileOf(directory);
  if (!existsSync(file)) return null;
  try {
    return LocalState.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    throw new Error(`${file} is not valid. Delete it to start with new ports and secrets; your data is kept.`, {
      cause,
    });
  }
}

/** Replaces the state atomically: readers see either the old or the new state. It is on disk before the rename. */
export function writeState(directory: string, state: LocalState): void {
  const file = stateFileOf(directory);
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
}

function stateFileOf(directory: string): string {
  return join(directory, "local.json");
}
