import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { ConfigError } from "../../config.ts";

/**
 * What the parts that `npm start` brings along need to keep, and what the project's other commands need to find them.
 * It is built up in steps while the service starts, and holds only the parts that are embedded.
 * Ports and secrets stay the same over restarts; `pid` and `serviceUrl` belong to one run.
 */
export const LocalState = z.object({
  pid: z.int().positive(),
  /** Set last, when the service answers: before that, the rest may be from the previous run. */
  serviceUrl: z.url().optional(),
  databaseUrl: z.url().optional(),
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
  sessionSecret: z.string().min(32).optional(),
  ports: z.record(z.string(), z.int().min(1).max(65535)).default({}),
});
export type LocalState = z.infer<typeof LocalState>;

/** A data directory that this process owns until `release` or its end, whichever way it ends. */
export interface DataDirectory {
  /** Absolute, without symbolic links. */
  directory: string;
  state(): LocalState;
  /** Merges the changes into the state and writes it to disk before it returns. */
  update(changes: Partial<Omit<LocalState, "pid">>): LocalState;
  release(): void;
}

/** The locks of this process. SQLite lets go of a lock that is garbage-collected, so they are kept here. */
const heldLocks = new Set<DatabaseSync>();

/** How long a start waits for the lock: a reader holds it for microseconds, an owner for as long as it lives. */
const lockWaitMs = 500;

/** An owner writes its pid right after it has the lock, which takes more than half a second on a busy disk. */
const ownerWriteMs = 5_000;

/**
 * Makes this process the only owner of a data directory, and creates the directory (mode 700) if there is none.
 *
 * The owner holds SQLite's lock on an empty file: the one lock of the kernel that Node.js offers on Linux and macOS.
 * The kernel gives it to exactly one of those who ask at the same moment, and takes it back when its process ends,
 * by SIGKILL too. So no pid is ever compared, and none that was given out again can mislead. SQLite takes paths of up
 * to about 500 bytes.
 *
 * @throws ConfigError naming the directory, the pid and the URL of the running service when the directory has an owner.
 */
export async function claimDataDirectory(directory: string): Promise<DataDirectory> {
  mkdirSync(resolve(directory), { recursive: true, mode: 0o700 });
  const path = realpathSync(directory);
  const lock = await takeLock(path);
  if (!lock) throw new ConfigError(await describeOwner(path));

  let state: LocalState;
  try {
    state = { ...(readState(path) ?? { ports: {} }), pid: process.pid, serviceUrl: undefined };
    writeState(path, state);
  } catch (error) {
    letGo(lock);
    throw error;
  }

  return {
    directory: path,
    state: () => state,
    update(changes) {
      if (!lock.isOpen) throw new Error(`The data directory ${path} was released already.`);
      const next = LocalState.parse({ ...state, ...changes });
      writeState(path, next);
      state = next;
      return state;
    },
    release() {
      if (lock.isOpen) letGo(lock);
    },
  };
}

/**
 * For the project's other commands: the state of the running service, or null when no live process owns the directory.
 * `serviceUrl` is missing while the service is still starting.
 */
export function readLocalState(directory: string): LocalState | null {
  const lockFile = lockFileOf(directory);
  if (!existsSync(lockFile)) return null;
  const lock = new DatabaseSync(lockFile, { readOnly: true });
  try {
    lock.exec("BEGIN; SELECT 1 FROM sqlite_schema; COMMIT");
    return null;
  } catch (error) {
    if (isBusy(error)) return withoutFormerUrl(readState(directory));
    throw error;
  } finally {
    lock.close();
  }
}

/** An owner that has just taken the lock may not have written its state yet: the URL there is the previous run's. */
function withoutFormerUrl(state: LocalState | null): LocalState | null {
  return state === null || isAlive(state.pid) ? state : { ...state, serviceUrl: undefined };
}

function lockFileOf(directory: string): string {
  return join(directory, "owner.lock");
}

function stateFileOf(directory: string): string {
  return join(directory, "local.json");
}

/** The lock, or null when another live process (or another part of this one) has it. */
async function takeLock(directory: string): Promise<DatabaseSync | null> {
  const lockFile = lockFileOf(directory);
  const deadline = Date.now() + lockWaitMs;
  closeSync(openSync(lockFile, "a", 0o600)); // Here a missing right gives an error that says so; SQLite's does not.
  while (true) {
    const lock = new DatabaseSync(lockFile);
    try {
      lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
      heldLocks.add(lock);
      return lock;
    } catch (error) {
      lock.close();
      if (!isBusy(error)) throw error;
      if (Date.now() > deadline) return null;
    }
    await sleep(20);
  }
}

function letGo(lock: DatabaseSync): void {
  heldLocks.delete(lock);
  lock.close();
}

/** SQLITE_BUSY, https://www.sqlite.org/rescode.html#busy */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}

/** Says who owns the directory. The pid comes from the state file and is for people to read; nothing depends on it. */
async function describeOwner(directory: string): Promise<string> {
  const deadline = Date.now() + ownerWriteMs;
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
    return error instanceof Error && "code" in error && error.code === "EPERM"; // It lives, and is another user's.
  }
}

function readState(directory: string): LocalState | null {
  const file = stateFileOf(directory);
  if (!existsSync(file)) return null;
  try {
    return LocalState.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (cause) {
    throw new Error(`${file} cannot be understood. Delete it to start with new ports and secrets; data stays.`, {
      cause,
    });
  }
}

/** Readers see the old state or the new one, never a part: the rename is atomic, and the content is on disk before it. */
function writeState(directory: string, state: LocalState): void {
  const file = stateFileOf(directory);
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
}
