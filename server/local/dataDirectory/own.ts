import { mkdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../config.ts";
import { isLocked, takeLock } from "../../fileLock.ts";
import { LocalState, readState, writeState } from "./state.ts";

/** A data directory that this process owns until it calls `release` or ends, in whatever way. */
export interface DataDirectory {
  /** The absolute path, without symbolic links. */
  directory: string;
  state(): LocalState;
  /** Merges the changes into the state and writes it to disk before returning. */
  update(changes: Partial<Omit<LocalState, "pid">>): LocalState;
  release(): void;
}

/** How long to wait for the lock. A reader holds it for microseconds, an owner until its process ends. */
const LOCK_WAIT_MS = 500;

/**
 * How long to wait for a new owner to write its pid after taking the lock. On a busy disk it takes over half a second.
 */
const OWNER_WRITE_MS = 5_000;

/**
 * Makes this process the only owner of a data directory. Creates the directory (mode 700) if it does not exist.
 * @throws ConfigError naming the directory and its owner's pid and URL when another process owns it
 */
export async function ownDataDirectory(directory: string): Promise<DataDirectory> {
  mkdirSync(resolve(directory), { recursive: true, mode: 0o700 });
  const path = realpathSync(directory);
  const lock = await takeLock(lockFileOf(path), LOCK_WAIT_MS);
  if (!lock) throw new ConfigError(await describeOwner(path));

  let state: LocalState;
  try {
    state = { ...readState(path), pid: process.pid, serviceUrl: undefined };
    writeState(path, state);
  } catch (error) {
    lock.release();
    throw error;
  }

  return {
    directory: path,
    state: () => state,
    update(changes) {
      if (!lock.isHeld) throw new Error(`The data directory ${path} has already been released.`);
      const next = LocalState.parse({ ...state, ...changes });
      writeState(path, next);
      state = next;
      return state;
    },
    release: () => lock.release(),
  };
}

/**
 * Returns the state of the running service, or null if no live process owns the directory. `serviceUrl` is missing
 * while the service is starting.
 */
export function readLocalState(directory: string): LocalState | null {
  return isLocked(lockFileOf(directory)) ? withoutStaleUrl(readState(directory)) : null;
}

const lockFileOf = (directory: string) => join(directory, "owner.lock");

/** Removes the URL of the previous run, which the file has until a new owner writes its own state. */
function withoutStaleUrl(state: LocalState | null): LocalState | null {
  return state === null || isAlive(state.pid) ? state : { ...state, serviceUrl: undefined };
}

/** Describes the owner of a directory. The pid from the state file is only information; nothing depends on it. */
async function describeOwner(directory: string): Promise<string> {
  const deadline = Date.now() + OWNER_WRITE_MS;
  let state = readState(directory);
  while (!(state && isAlive(state.pid)) && Date.now() < deadline) {
    await sleep(20);
    state = readState(directory);
  }
  const owner = state && isAlive(state.pid) ? `process ${state.pid}` : "a process that is just starting";
  const service = state?.serviceUrl ? `, which serves ${state.serviceUrl}` : "";
  return `The data directory ${directory} is in use by ${owner}${service}. Stop it, or set DATA_DIR to another directory.`;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // Alive, but another user's process.
  }
}
