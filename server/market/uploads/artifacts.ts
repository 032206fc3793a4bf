import { ApiError } from "../../errors.ts";
import type { SampleOrDelivery } from "../../schemas/artifact.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Services } from "../../services.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { checkUpload, invalidStorageKey, type Uploader, type UploadKind } from "./declare.ts";
import type { SealedUpload } from "./finalize.ts";
import { finishUpload } from "./lease.ts";
import { extensionOf } from "./mimeType.ts";

/** Source: docs/contract.md "Records". */
const DOWNLOAD_EXPIRES_IN_SECONDS = 900;

type ArtifactRow = Pick<
  SampleOrDelivery,
  "id" | "bidId" | "taskId" | "mimeType" | "detectedMimeType" | "bytes" | "createdAt"
> & {
  storageKey: string;
  kind: UploadKind;
  fileName: string | null;
  mimeTypeDiffers: boolean;
  sha256: string | null;
  width: number | null;
  height: number | null;
  durationSec: number | null;
  detectedWidth: number | null;
  detectedHeight: number | null;
  detectedDurationSec: number | null;
  supersededAt: string | null;
};

/** Columns of `artifacts a JOIN uploads u ON u.storage_key = a.upload_key`. */
const artifactColumns = sql`
  a.id, a.bid_id AS "bidId", a.task_id AS "taskId", a.kind, a.storage_key AS "storageKey", a.sha256,
  a.created_at AS "createdAt", u.mime_type AS "mimeType", u.bytes, u.width, u.height, u.duration_sec AS "durationSec",
  u.file_name AS "fileName", a.detected_mime_type AS "detectedMimeType", a.mime_type_differs AS "mimeTypeDiffers",
  a.detected_width AS "detectedWidth", a.detected_height AS "detectedHeight",
  a.detected_duration_sec AS "detectedDurationSec", a.superseded_at AS "supersededAt"`;

/** Returns the sample or delivery that an upload became; null when it was not finalised. */
export async function findArtifact(connection: Connection, uploadKey: string): Promise<ArtifactRow | null> {
  const [row] = await connection.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.upload_key = ${uploadKey}`);
  return row ?? null;
}

/**
 * For an upload that is about to become a delivery. Throws `invalid_input` if it became one already: then the buyer has asked
 * for changes since, or else `checkUpload` throws that the task is delivered. Returns null if it did not.
 */
export async function assertNotDelivered(
  services: Uploader & Pick<Services, "database">,
  { id: bidId, storageKey }: { id: string; storageKey: string },
): Promise<null> {
  if ((await findArtifact(services.database, storageKey)) === null) return null;
  await checkUpload(services.database, services, "delivery", bidId);
  throw invalidStorageKey("This file has been delivered already. Start another upload.");
}

/** Records that the delivery of a bid, whose task is locked, is about to be replaced by another one. */
export async function supersedeDelivery(tx: Transaction, bidId: string, at: Date): Promise<void> {
  await tx.query(sql`
    UPDATE artifacts SET superseded_at = ${at.toISOString()}::timestamptz
    WHERE bid_id = ${bidId}::uuid AND kind = 'delivery' AND superseded_at IS NULL`);
}

/** Counts the finalised samples of a bid. */
export async function countSamples(connection: Connection, bidId: string): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    connection,
    sql`SELECT count(*)::int AS count FROM artifacts WHERE bid_id = ${bidId}::uuid AND kind = 'sample'`,
  );
  return count;
}

/**
 * Records a sealed upload as a sample or delivery. Throws `invalid_input` when nothing was uploaded, and `unavailable`
 * when another request is finalising the upload by now.
 */
export async function addArtifact(
  tx: Transaction,
  kind: UploadKind,
  { bid, sealed }: { bid: Bid; sealed: SealedUpload | null },
): Promise<ArtifactRow> {
  if (sealed === null) throw invalidStorageKey("Nothing has been uploaded under this key yet.");
  const { lease, sha256, detectedMimeType, mimeTypeDiffers, detectedDimensions, detectedDurationSec } = sealed;
  const [row] = await tx.query<ArtifactRow>(sql`
    WITH u AS (${finishUpload(lease)}), a AS (
      INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, kind, sha256, detected_mime_type, mime_type_differs,
                             detected_width, detected_height, detected_duration_sec)
      SELECT u.storage_key, u.sealed_key, ${bid.id}::uuid, ${bid.taskId}::uuid, ${kind}, ${sha256}, ${detectedMimeType},
             ${mimeTypeDiffers}::boolean, ${detectedDimensions?.width ?? null}::int,
             ${detectedDimensions?.height ?? null}::int, ${detectedDurationSec}::float8
      FROM u RETURNING *)
    SELECT ${artifactColumns} FROM a JOIN u ON u.storage_key = a.upload_key`);
  if (row === undefined) throw new ApiError("unavailable");
  return row;
}

/** The public record, with a download link that expires after 15 minutes. Bytes of another type are never served as it. */
export async function toArtifact({ storage }: Pick<Services, "storage">, row: ArtifactRow): Promise<SampleOrDelivery> {
  const servedMimeType = row.mimeTypeDiffers ? "application/octet-stream" : row.mimeType;
  const downloadUrl = await storage.presignDownload({
    storageKey: row.storageKey,
    fileName: row.fileName ?? `${row.kind}-${row.id}${extensionOf(servedMimeType)}`,
    mimeType: servedMimeType,
    expiresInSeconds: DOWNLOAD_EXPIRES_IN_SECONDS,
  });
  return { ...artifactRecord(row), downloadUrl };
}

/** The public record without a download link. */
export function artifactRecord(row: ArtifactRow): Omit<SampleOrDelivery, "downloadUrl"> {
  const { id, bidId, taskId, mimeType, detectedMimeType, fileName, bytes, createdAt, sha256 } = row;
  const { durationSec, detectedDurationSec, supersededAt } = row;
  const dimensions = dimensionsOf(row.width, row.height);
  const detectedDimensions = dimensionsOf(row.detectedWidth, row.detectedHeight);
  return {
    ...{ id, bidId, taskId, mimeType, detectedMimeType, bytes, createdAt, supersededAt },
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
): Promise<{ samples: SampleOrDelivery[]; deliveries: SampleOrDelivery[] }> {
  const rows = await services.database.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.task_id = ${taskId}::uuid ORDER BY a.created_at`);
  const artifactsOf = (kind: UploadKind) =>
    Promise.all(rows.filter((row) => row.kind === kind).map((row) => toArtifact(services, row)));
  return { samples: await artifactsOf("sample"), deliveries: (await artifactsOf("delivery")).reverse() };
}
