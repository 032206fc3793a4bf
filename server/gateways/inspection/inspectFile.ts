import { fileTypeFromTokenizer } from "file-type";
import { imageSize } from "image-size";
import { parseFromTokenizer } from "music-metadata";
import type { Inspection } from "./inspection.ts";
import { type FileParts, PartialFile } from "./partialFile.ts";

/**
 * Inspects a file, which may be hostile, without its middle. The parsers may throw on it, which is handled here, or run
 * forever, which is not: run this in a thread that can be stopped.
 */
export async function inspectFile(parts: FileParts): Promise<Inspection> {
  const mimeType = await orNull(() => detectType(parts));
  const isText = isUtf8(parts);
  const isJson = isText && isWholeJson(parts);
  if (mimeType?.startsWith("image/")) {
    return { mimeType, isText, isJson, dimensions: await orNull(() => imageDimensions(parts)), durationSec: null };
  }
  const isMedia = mimeType !== null && /^(audio|video)\/|^application\/ogg$/.test(mimeType);
  const media = isMedia ? await orNull(() => readMedia(parts, mimeType)) : null;
  return { mimeType, isText, isJson, dimensions: null, durationSec: null, ...media };
}

async function orNull<Result>(parse: () => Promise<Result>): Promise<Result | null> {
  return parse().catch(() => null);
}

async function detectType(parts: FileParts): Promise<string | null> {
  const type = await fileTypeFromTokenizer(new PartialFile(parts));
  if (type !== undefined) return type.mime.replace(/;.*$/, "").toLowerCase();
  // A cover picture in front of the audio can be larger than the part that was read.
  return startsWith(parts.start, "ID3") ? "audio/mpeg" : null;
}

const BOXES_BYTES = 64 * 1024;

async function imageDimensions({ start }: FileParts) {
  // In formats of boxes, the parser takes the square of their number: 6.5 s for 700 kB of them. Honest ones state it early.
  const isOfBoxes = startsWith(start.subarray(4), "ftyp") || startsWith(start.subarray(4), "JXL ");
  const { width, height } = imageSize(isOfBoxes ? start.subarray(0, BOXES_BYTES) : start);
  return dimensionsOf(width, height);
}

async function readMedia(parts: FileParts, mimeType: string): Promise<Pick<Inspection, "dimensions" | "durationSec">> {
  const file = new PartialFile(parts);
  file.fileInfo.mimeType = mimeType;
  const { format } = await parseFromTokenizer(file, { skipCovers: true, mkvUseIndex: true });
  const video = format.trackInfo.find((track) => track.video !== undefined)?.video;
  return {
    dimensions: dimensionsOf(video?.pixelWidth, video?.pixelHeight),
    // The parser sums up audio only: a silent video has the duration of its longest track.
    durationSec: secondsOf(format.duration ?? Math.max(...format.trackInfo.map(({ duration = -1 }) => duration))),
  };
}

/** Postgres' `integer`, which the measures are stored as. */
const MAX_MEASURE = 2_147_483_647;

function dimensionsOf(width: number | undefined, height: number | undefined) {
  const isMeasure = (value: number | undefined): value is number =>
    value !== undefined && Number.isInteger(value) && value >= 1 && value <= MAX_MEASURE;
  return isMeasure(width) && isMeasure(height) ? { width, height } : null;
}

/** Milliseconds are as exact as the formats are. */
function secondsOf(seconds: number | undefined): number | null {
  if (seconds === undefined || !(seconds >= 0 && seconds <= MAX_MEASURE)) return null;
  return Math.round(seconds * 1_000) / 1_000;
}

function startsWith(bytes: Uint8Array, ascii: string): boolean {
  return Buffer.from(bytes.subarray(0, ascii.length)).toString("latin1") === ascii;
}

/** Of a file whose middle was not read, only its ends can tell. */
function isWholeJson({ bytes, start, end }: FileParts): boolean {
  if (start.length + end.length !== bytes) {
    const ends = [Buffer.from(start).toString().trim()[0], Buffer.from(end).toString().trim().at(-1)].join("");
    return ends === "{}" || ends === "[]";
  }
  try {
    JSON.parse(new TextDecoder().decode(Buffer.concat([start, end])));
    return true;
  } catch {
    return false;
  }
}

function isUtf8({ bytes, start, end }: FileParts): boolean {
  if (start.includes(0) || end.includes(0)) return false;
  // Each part may be cut within a character.
  const isWhole = start.length === bytes;
  const firstCharacter = end.subarray(0, 3).findIndex((byte) => (byte & 0xc0) !== 0x80);
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: !isWhole });
    new TextDecoder("utf-8", { fatal: true }).decode(end.subarray(Math.max(0, firstCharacter)));
    return true;
  } catch {
    return false;
  }
}
