/** What only Node.js can do: upload a file by its path. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { StreamedFile } from "./uploads.ts";

/** The types that samples have limits of their own for, and a few that are common. */
const types: Record<string, string> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp",
  ".gif": "image/gif",
  ".mp3": "audio/mpeg",
  ".wav": "audio/wav",
  ".ogg": "audio/ogg",
  ".flac": "audio/flac",
  ".mp4": "video/mp4",
  ".webm": "video/webm",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
  ".json": "application/json",
  ".pdf": "application/pdf",
  ".zip": "application/zip",
};

/**
 * Returns the file at a path, for `rebid.bids.uploadSample` and `uploadDelivery`. It is read while it is sent. Its type
 * follows from its name; `mimeType` of the upload replaces it.
 *
 * @throws If there is no such file, or it is a folder.
 */
export async function fileFrom(path: string): Promise<StreamedFile> {
  const details = await stat(path);
  if (!details.isFile()) throw new TypeError(`${path} is not a file.`);
  return {
    bytes: details.size,
    name: basename(path),
    type: types[extname(path).toLowerCase()],
    stream: () => createReadStream(path),
  };
}
