import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

export interface Lock {
  readonly isHeld: boolean;
  /** Calling it again is harmless. */
  release(): void;
}

/** The locks of this process. SQLite releases a lock when its object is garbage-collected, so they are kept here. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Takes the lock that `lockFile` stands for, or returns null if another live process (or another part of this one) holds it
 * for longer than `waitMs`.
 *
 * It is SQLite's lock on an empty file, the only kernel lock that Node.js offers on Linux and macOS. Of several
 * processes that try to take it at the same time, exactly one succeeds, and the kernel releases it when that process
 * ends, even by SIGKILL. So no pids are compared, and a reused pid cannot mislead. SQLite accepts paths of up to about
 * 500 bytes.
 */
export async function takeLock(lockFile: string, waitMs: number): Promise<Lock | null> {
  const deadline = Date.now() + waitMs;
  closeSync(openSync(lockFile, "a", 0o600)); // If permissions are missing, this error says so; SQLite's does not.
  while (true) {
    const database = new DatabaseSync(lockFile);
    try {
      database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
      heldLocks.add(database);
      return lockOf(database);
    } catch (error) {
      database.close();
      if (!isBusy(error)) throw error;
      if (Date.now() > deadline) return null;
    }
    await sleep(20);
  }
}

function lockOf(database: DatabaseSync): Lock {
  return {
    get isHeld() {
      return database.isOpen;
    },
    release() {
      if (!database.isOpen) return;
      heldLocks.delete(database);
      database.close();
    },
  };
}

/** Whether a live process holds the lock. */
export function isLocked(lockFile: string): boolean {
  if (!existsSync(lockFile)) return false;
  const database = new DatabaseSync(lockFile, { readOnly: true });
  try {
    database.exec("BEGIN; SELECT 1 FROM sqlite_schema; COMMIT");
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** SQLITE_BUSY, https://www.sqlite.org/rescode.html#busy */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}
