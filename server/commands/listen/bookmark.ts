import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiError } from "../../errors.ts";
import type { Cursors, LogPosition } from "../../events/cursor.ts";
import { advanceLog, assertKept, isSame, type LoggedEvent, readWholeLog } from "../../events/log.ts";
import type { Connection } from "../../store/connection.ts";

const PAGE = 100;

/** The file in the data directory that remembers where the log was read to, as a cursor. */
export function openBookmark(dataDirectory: string, cursors: Cursors) {
  const path = join(dataDirectory, "listen-cursor");
  let written: LogPosition | null = null;
  return {
    /** Returns the cursor; null if there is none yet. */
    async read(): Promise<string | null> {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return "";
        throw error;
      });
      return text.trim() || null;
    },
    async write(place: LogPosition): Promise<void> {
      if (written !== null && isSame(place, written)) return;
      await mkdir(dataDirectory, { recursive: true });
      // Renamed, so that a process that is killed leaves the old file or the new one.
      await writeFile(`${path}.new`, `${cursors.encrypt(place)}\n`);
      await rename(`${path}.new`, path);
      written = place;
    },
  };
}

/**
 * Follows the log of everyone behind a cursor, or from now on if there is none or the log has lost its place. `next` returns
 * the next events, or none.
 */
export async function followWholeLog(database: Connection, cursors: Cursors, cursor: string | null) {
  const found = cursor === null ? null : await findPlace(database, cursors, cursor);
  let place: LogPosition = found ?? (await advanceLog(database));
  return {
    hasLostPlace: cursor !== null && found === null,
    place: () => place,
    async next(): Promise<LoggedEvent[]> {
      const end = await advanceLog(database);
      // After a failover or restore that lost the end of the log, nothing tells what of the new one has been seen.
      if (!(await isKept(database, place, end))) place = end;
      if (end.position === place.position) return [];
      const events = await readWholeLog(database, place.position, end, PAGE);
      place = (events.length === PAGE ? events.at(-1) : undefined) ?? end;
      return events;
    },
  };
}

async function findPlace(database: Connection, cursors: Cursors, cursor: string): Promise<LogPosition | null> {
  try {
    const place = cursors.decrypt(cursor);
    return (await isKept(database, place, await advanceLog(database))) ? place : null;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

async function isKept(database: Connection, place: LogPosition, end: LogPosition): Promise<boolean> {
  try {
    await assertKept(database, place, end);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === "cursor_expired") return false;
    throw error;
  }
}
