import { ApiError, type LimitViolation } from "../../errors.ts";
import { essenceOf } from "./mimeType.ts";

const MEGABYTE = 1_000_000;

interface UploadLimits {
  bytes: number;
  /** Pixels, for images. */
  width?: number;
  /** Pixels, for images. */
  height?: number;
  durationSec?: number;
}

const image: UploadLimits = { bytes: 10 * MEGABYTE, width: 8_192, height: 8_192 };
const audio: UploadLimits = { bytes: 25 * MEGABYTE, durationSec: 300 };
const video: UploadLimits = { bytes: 100 * MEGABYTE, durationSec: 120 };
const text: UploadLimits = { bytes: MEGABYTE };

const pdf: UploadLimits = { bytes: 20 * MEGABYTE };
const other: UploadLimits = { bytes: 5 * MEGABYTE };

/** Limits for samples of the types that have their own. Source: docs/contract.md "Limits". */
const sampleLimits = new Map<string, UploadLimits>([
  ["image/png", image],
  ["image/jpeg", image],
  ["image/webp", image],
  ["image/gif", image],
  ["audio/mpeg", audio],
  ["audio/wav", audio],
  ["audio/ogg", audio],
  ["audio/flac", audio],
  ["video/mp4", video],
  ["video/webm", video],
  ["application/json", text],
  ["application/pdf", pdf],
]);

function sampleLimitsOf(mimeType: string): UploadLimits {
  const essence = essenceOf(mimeType);
  return sampleLimits.get(essence) ?? (essence.startsWith("text/") ? text : other);
}

const MAX_DELIVERY_BYTES = 1_000 * MEGABYTE;
const MAX_SAMPLES_PER_BID = 10;

/** What a client declares before it uploads. */
export interface DeclaredUpload {
  mimeType: string;
  bytes: number;
  dimensions?: { width: number; height: number };
  durationSec?: number;
  fileName?: string;
}

/** Throws `sample_too_large` with every limit of its type that the sample exceeds. */
export function assertSampleLimits({ mimeType, bytes, dimensions, durationSec }: DeclaredUpload): void {
  const limits = sampleLimitsOf(mimeType);
  const violations = violationsOf([
    ["bytes", limits.bytes, bytes],
    ["width", limits.width, dimensions?.width],
    ["height", limits.height, dimensions?.height],
    ["durationSec", limits.durationSec, durationSec],
  ]);
  if (violations.length > 0) throw new ApiError("sample_too_large", { violations });
}

/** Whether a bid with this many samples may get another one. */
export const canAddSample = (count: number) => count < MAX_SAMPLES_PER_BID;

/** Throws `sample_too_large` if a bid would have more than 10 samples. */
export function assertSampleCount(count: number): void {
  const violations = violationsOf([["samples", MAX_SAMPLES_PER_BID, count]]);
  if (violations.length > 0) throw new ApiError("sample_too_large", { violations });
}

/** Throws `delivery_too_large` above 1 GB. */
export function assertDeliveryLimits(upload: DeclaredUpload): void {
  const violations = violationsOf([["bytes", MAX_DELIVERY_BYTES, upload.bytes]]);
  if (violations.length > 0) throw new ApiError("delivery_too_large", { violations });
}

const MAX_FILE_BYTES = { brief: 100 * MEGABYTE, message: 25 * MEGABYTE } as const;
/** Of briefs and messages together, a user may have this much, and this many uploads that are not finished. */
const MAX_USER_BYTES = 10_000 * MEGABYTE;
const MAX_OPEN_UPLOADS = 20;
const MAX_FILES_PER_BRIEF = 20;

/** Throws `file_too_large` above 100 MB for a brief, 25 MB for a message. */
export function assertFileLimits(kind: keyof typeof MAX_FILE_BYTES, upload: DeclaredUpload): void {
  const violations = violationsOf([["bytes", MAX_FILE_BYTES[kind], upload.bytes]]);
  if (violations.length > 0) throw new ApiError("file_too_large", { violations });
}

/** Whether the brief of a task may get another file. */
export const canAddFile = ({ fileCount }: { fileCount: number }) => fileCount < MAX_FILES_PER_BRIEF;

/** Throws `limit_reached` if a brief already has 20 files. */
export function assertRoomInBrief(task: { fileCount: number }): void {
  if (canAddFile(task)) return;
  const message = `A task has at most ${MAX_FILES_PER_BRIEF} files.`;
  throw new ApiError("limit_reached", { limit: MAX_FILES_PER_BRIEF, message });
}

/** Throws `limit_reached` if a user has more in briefs and messages than a user may. */
export function assertUserTotals({ bytes, open }: { bytes: number; open: number }): void {
  if (open > MAX_OPEN_UPLOADS) {
    const message = `${MAX_OPEN_UPLOADS} of your uploads are not finished: finish one, or wait until it is deleted after 24 hours.`;
    throw new ApiError("limit_reached", { limit: MAX_OPEN_UPLOADS, message });
  }
  const violations = violationsOf([["bytes", MAX_USER_BYTES, bytes]]);
  if (violations.length > 0) {
    throw new ApiError("limit_reached", { violations, message: "Your files of briefs and messages may have 10 GB." });
  }
}

function violationsOf(measured: [string, number | undefined, number | undefined][]): LimitViolation[] {
  return measured.flatMap(([field, limit, actual]) =>
    limit !== undefined && actual !== undefined && actual > limit ? [{ field, limit, actual }] : [],
  );
}
