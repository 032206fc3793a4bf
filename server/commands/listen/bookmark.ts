import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ApiError } from "../../errors.ts";
import { cursorOf, type Place, placeOf } from "../../events/cursor.ts";
import { advanceLog, assertKept, type LoggedEvent, readWholeLog } from "../../events/log.ts";
import type { Connection } from "../../store/connection.ts";

const PAGE = 100;

/** The file in the data directory that remembers where the log was read to. */
export function openBookmark(dataDirectory: string) {
  const path = join(dataDirectory, "listen-cursor");
  let written: string | null = null;
  return {
    /** Returns the cursor; null if there is none yet. */
    async read(): Promise<string | null> {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return "";
        throw error;
      });
      return text.trim() || null;
    },
    async write(cursor: string): Promise<void> {
      if (cursor === written) return;
      await mkdir(dataDirectory, { recursive: true });
      // Renamed, so that a process that is killed leaves the old file or the new one.
      await writeFile(`${path}.new`, `${cursor}\n`);
      await rename(`${path}.new`, path);
      written = cursor;
    },
  };
}

/**
 * Follows the log of everyone behind a cursor, or from now on if there is none or the log has lost its place. `next` returns
 * the next events, or none.
 */
export async function followWholeLog(database: Connection, cursor: string | null) {
  const found = cursor === null ? null : await findPlace(database, cursor);
  let place: Place = found ?? (await advanceLog(database));
  return {
    hasLostPlace: cursor !== null && found === null,
    cursor: () => cursorOf(place),
    async next(): Promise<LoggedEvent[]> {
      const end = await advanceLog(database);
      // A restored database: nothing tells what of it has been seen.
      if (end.epoch !== place.epoch) place = end;
      if (end.position === place.position) return [];
      const events = await readWholeLog(database, place.position, end, PAGE);
      place = (events.length === PAGE ? events.at(-1) : undefined) ?? end;
      return events;
    },
  };
}

async function findPlace(database: Connection, cursor: string): Promise<Place | null> {
  try {
    const place = placeOf(cursor);
    await assertKept(database, place, await advanceLog(database));
    return place;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
