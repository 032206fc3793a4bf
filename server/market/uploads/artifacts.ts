import { ApiError } from "../../errors.ts";
import type { SampleOrDelivery } from "../../schemas/artifact.ts";
import { type Check, isBuiltIn } from "../../schemas/check.ts";
import type { Services } from "../../services.ts";
import { type Connection, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { type CheckedRow, endedChecks, pendingResults, shownResults } from "./checkResults.ts";
import { invalidStorageKey, type UploadKind } from "./declare.ts";
import type { SealedUpload } from "./finalize.ts";
import { finishUpload } from "./lease.ts";
import { extensionOf } from "./mimeType.ts";

/** Source: docs/contract.md "Records". */
export const DOWNLOAD_EXPIRES_IN_SECONDS = 900;

/** What every sealed file has. */
export type SealedRow = Pick<SampleOrDelivery, "id" | "mimeType" | "detectedMimeType" | "bytes" | "createdAt"> & {
  storageKey: string;
  kind: UploadKind;
  fileName: string | null;
  mimeTypeDiffers: boolean;
  sha256: string | null;
};

/** Of a sample or a delivery. */
export type ArtifactRow = SealedRow & {
  bidId: string;
  taskId: string;
  width: number | null;
  height: number | null;
  durationSec: number | null;
  detectedWidth: number | null;
  detectedHeight: number | null;
  detectedDurationSec: number | null;
  supersededAt: string | null;
} & CheckedRow;

/** Columns of `artifacts a JOIN uploads u ON u.storage_key = a.upload_key`, for `SealedRow`. */
export const sealedColumns = sql`
  a.id, a.kind, a.storage_key AS "storageKey", a.sha256, a.created_at AS "createdAt", u.mime_type AS "mimeType", u.bytes,
  u.file_name AS "fileName", a.detected_mime_type AS "detectedMimeType", a.mime_type_differs AS "mimeTypeDiffers"`;

export const artifactColumns = sql`${sealedColumns}, a.bid_id AS "bidId", a.task_id AS "taskId", u.width, u.height,
  u.duration_sec AS "durationSec", a.detected_width AS "detectedWidth", a.detected_height AS "detectedHeight",
  a.detected_duration_sec AS "detectedDurationSec", a.superseded_at AS "supersededAt",
  a.checks, ${endedChecks} AS "endedChecks"`;

/** Returns what an upload became; null when it was not finalised. `columns` are those of its kind. */
export async function findSealed<Row extends SealedRow>(
  connection: Connection,
  uploadKey: string,
  columns: Sql,
): Promise<Row | null> {
  const [row] = await connection.query<Row>(sql`
    SELECT ${columns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key WHERE a.upload_key = ${uploadKey}`);
  return row ?? null;
}

/**
 * Records a sealed upload. Throws `invalid_input` when nothing was uploaded, and `unavailable` when another request is
 * finalising the upload by now.
 */
export async function addSealed<Row extends SealedRow>(
  tx: Transaction,
  {
    kind,
    bidId,
    taskId,
    checks = [],
  }: { kind: UploadKind; bidId: string | null; taskId: string | null; checks?: readonly Check[] },
  sealed: SealedUpload | null,
  columns: Sql,
): Promise<Row> {
  if (sealed === null) throw invalidStorageKey("Nothing has been uploaded under this key yet.");
  const { lease, sha256, detectedMimeType, mimeTypeDiffers, detectedDimensions, detectedDurationSec } = sealed;
  const results = checks.length === 0 ? null : JSON.stringify(pendingResults(checks));
  const [row] = await tx.query<Row>(sql`
    WITH u AS (${finishUpload(lease)}), a AS (
      INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, owner_id, kind, sha256, detected_mime_type, mime_type_differs,
                             detected_width, detected_height, detected_duration_sec, checks, checking)
      SELECT u.storage_key, u.sealed_key, ${bidId}::uuid, ${taskId}::uuid, u.owner_id, ${kind}, ${sha256},
             ${detectedMimeType}, ${mimeTypeDiffers}::boolean, ${detectedDimensions?.width ?? null}::int,
             ${detectedDimensions?.height ?? null}::int, ${detectedDurationSec}::float8,
             ${results}::jsonb, ${checks.some(isBuiltIn)}::boolean
      FROM u RETURNING *)
    SELECT ${columns} FROM a JOIN u ON u.storage_key = a.upload_key`);
  if (row === undefined) throw new ApiError("unavailable");
  return row;
}

/** A link to a file that expires after 15 minutes. Bytes of another type are never served as the declared one. */
export function signDownload({ storage }: Pick<Services, "storage">, row: SealedRow): Promise<string> {
  const servedMimeType = row.mimeTypeDiffers ? "application/octet-stream" : row.mimeType;
  return storage.presignDownload({
    storageKey: row.storageKey,
    fileName: row.fileName ?? `${row.kind}-${row.id}${extensionOf(servedMimeType)}`,
    mimeType: servedMimeType,
    expiresInSeconds: DOWNLOAD_EXPIRES_IN_SECONDS,
  });
}

/** The public record, with a download link. `knowsHidden`: with the reasons of hidden checks. */
export async function toArtifact(
  services: Pick<Services, "storage">,
  row: ArtifactRow,
  knowsHidden = false,
): Promise<SampleOrDelivery> {
  return { ...artifactRecord(row, knowsHidden), downloadUrl: await signDownload(services, row) };
}

/** The public record without a download link. */
export function artifactRecord(row: ArtifactRow, knowsHidden = false): Omit<SampleOrDelivery, "downloadUrl"> {
  const { id, bidId, taskId, mimeType, detectedMimeType, fileName, bytes, createdAt, sha256 } = row;
  const { durationSec, detectedDurationSec, supersededAt } = row;
  const dimensions = dimensionsOf(row.width, row.height);
  const detectedDimensions = dimensionsOf(row.detectedWidth, row.detectedHeight);
  return {
    ...{ id, bidId, taskId, mimeType, detectedMimeType, bytes, createdAt, supersededAt },
    checks: shownResults(row, knowsHidden),
    ...(fileName !== null && { fileName }),
    ...(dimensions !== null && { dimensions }),
    ...(detectedDimensions !== null && { detectedDimensions }),
    ...(durationSec !== null && { durationSec }),
    ...(detectedDurationSec !== null && { detectedDurationSec }),
    ...(sha256 !== null && { sha256 }),
  };
}

const dimensionsOf = (width: number | null, height: number | null) =>
  width === null || height === null ? null : { width, height };

/** Returns what was finalised for a task: the samples, oldest first, and the deliveries, newest first. */
export async function readArtifacts(
  services: Pick<Services, "storage"> & { database: Connection },
  taskId: string,
  knowsHidden: boolean,
): Promise<{ samples: SampleOrDelivery[]; deliveries: SampleOrDelivery[] }> {
  const rows = await services.database.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.task_id = ${taskId}::uuid AND a.kind IN ('sample', 'delivery') ORDER BY a.created_at`);
  const artifactsOf = (kind: "sample" | "delivery") =>
    Promise.all(rows.filter((row) => row.kind === kind).map((row) => toArtifact(services, row, knowsHidden)));
  return { samples: await artifactsOf("sample"), deliveries: (await artifactsOf("delivery")).reverse() };
}
