import type { SealedObject } from "../../gateways/storage.ts";
import type { Artifact } from "../../schemas/artifact.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Services } from "../../services.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { invalidStorageKey, type UploadKind } from "./declare.ts";
import { extensionOf } from "./mimeType.ts";

/** Source: docs/contract.md "Records". */
const DOWNLOAD_EXPIRES_IN_SECONDS = 900;

type ArtifactRow = Omit<Artifact, "downloadUrl" | "dimensions" | "durationSec" | "sha256"> & {
  storageKey: string;
  kind: UploadKind;
  sha256: string | null;
  width: number | null;
  height: number | null;
  durationSec: number | null;
};

/** Columns of `artifacts a JOIN uploads u ON u.storage_key = a.upload_key`. */
const artifactColumns = sql`
  a.id, a.bid_id AS "bidId", a.task_id AS "taskId", a.kind, a.storage_key AS "storageKey", a.sha256,
  a.created_at AS "createdAt", u.mime_type AS "mimeType", u.bytes, u.width, u.height, u.duration_sec AS "durationSec"`;

/** Returns the sample or delivery that an upload became; null when it was not finalised. */
export async function findArtifact(connection: Connection, uploadKey: string): Promise<ArtifactRow | null> {
  const [row] = await connection.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.upload_key = ${uploadKey}`);
  return row ?? null;
}

/** Counts the finalised samples of a bid. */
export async function countSamples(connection: Connection, bidId: string): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    connection,
    sql`SELECT count(*)::int AS count FROM artifacts WHERE bid_id = ${bidId}::uuid AND kind = 'sample'`,
  );
  return count;
}

/** Records a sealed upload as a sample or delivery. Throws `invalid_input` when nothing was uploaded. */
export async function addArtifact(
  tx: Transaction,
  kind: UploadKind,
  { uploadKey, bid, sealed }: { uploadKey: string; bid: Bid; sealed: SealedObject | null },
): Promise<ArtifactRow> {
  if (sealed === null) throw invalidStorageKey("Nothing has been uploaded under this key yet.");
  await tx.query(sql`
    INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, kind, sha256)
    VALUES (${uploadKey}, ${sealed.storageKey}, ${bid.id}::uuid, ${bid.taskId}::uuid, ${kind}, ${sealed.sha256})`);
  const row = await findArtifact(tx, uploadKey);
  if (row === null) throw new Error("the new artifact cannot be found");
  return row;
}

/** The public record without a download link. */
export function artifactRecord(row: ArtifactRow): Omit<Artifact, "downloadUrl"> {
  const { id, bidId, taskId, mimeType, bytes, createdAt, width, height, durationSec, sha256 } = row;
  return {
    ...{ id, bidId, taskId, mimeType, bytes, createdAt },
    ...(width !== null && height !== null && { dimensions: { width, height } }),
    ...(durationSec !== null && { durationSec }),
    ...(sha256 !== null && { sha256 }),
  };
}

/** The public record, with a download link that expires after 15 minutes. */
export async function toArtifact({ storage }: Pick<Services, "storage">, row: ArtifactRow): Promise<Artifact> {
  const downloadUrl = await storage.presignDownload({
    storageKey: row.storageKey,
    fileName: `${row.kind}-${row.id}${extensionOf(row.mimeType)}`,
    mimeType: row.mimeType,
    expiresInSeconds: DOWNLOAD_EXPIRES_IN_SECONDS,
  });
  return { ...artifactRecord(row), downloadUrl };
}

/** Returns the samples and deliveries that were finalised for a task, oldest first. */
export async function readArtifacts(
  services: Pick<Services, "database" | "storage">,
  taskId: string,
): Promise<{ samples: Artifact[]; deliveries: Artifact[] }> {
  const rows = await services.database.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.task_id = ${taskId}::uuid ORDER BY a.created_at`);
  const artifactsOf = (kind: UploadKind) =>
    Promise.all(rows.filter((row) => row.kind === kind).map((row) => toArtifact(services, row)));
  return { samples: await artifactsOf("sample"), deliveries: await artifactsOf("delivery") };
}
