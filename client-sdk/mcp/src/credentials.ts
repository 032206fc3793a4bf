import { mkdirSync, readFileSync, renameSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface StoredTokens {
  accessToken: string;
  refreshToken: string;
  /** In milliseconds since 1970. */
  expiresAt: number;
}

/** A lock that is older belongs to a process that is gone. */
const STALE_MS = 30_000;
const PAUSE_MS = 100;

/** The tokens of logins, by the service's address, in a file that only its owner may read. */
export class CredentialsFile {
  readonly path: string;

  constructor({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv) {
    this.path = join(XDG_CONFIG_HOME || join(HOME || homedir(), ".config"), "rebid", "credentials.json");
  }

  #readAll(): Record<string, StoredTokens> {
    try {
      return JSON.parse(readFileSync(this.path, "utf8"));
    } catch {
      return {};
    }
  }

  read(mcp: URL): StoredTokens | null {
    return this.#readAll()[mcp.href] ?? null;
  }

  /** Replaces the tokens of a service; no other process does so meanwhile. Null forgets them. */
  async update(
    mcp: URL,
    change: (current: StoredTokens | null) => Promise<StoredTokens | null>,
  ): Promise<StoredTokens | null> {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const lock = `${this.path}.lock`;
    while (!takeLock(lock)) await sleep(PAUSE_MS);
    try {
      const { [mcp.href]: current = null, ...others } = this.#readAll();
      const next = await change(current);
      const written = `${this.path}.${process.pid}`;
      writeFileSync(written, JSON.stringify(next === null ? others : { ...others, [mcp.href]: next }), { mode: 0o600 });
      renameSync(written, this.path);
      return next;
    } finally {
      rmdirSync(lock);
    }
  }
}

function takeLock(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_MS) rmdirSync(lock);
    return false;
  }
}
