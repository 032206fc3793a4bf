import { ApiError } from "../../errors.ts";
import type { SealedObject } from "../../gateways/storage.ts";
import type { Artifact } from "../../schemas/artifact.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { getBid } from "../bids/records.ts";
import { findTask, lockTask, type TaskRecord } from "../tasks/records.ts";
import { assertTaskAction, type Moment, momentOf, uploaderOf } from "../tasks/rules.ts";
import type { TaskActor } from "../tasks/stateMachine.ts";
import type { DeclaredUpload } from "./limits.ts";

export type UploadKind = "sample" | "delivery";

const UPLOAD_EXPIRES_IN_SECONDS = 3_600;
const DOWNLOAD_EXPIRES_IN_SECONDS = 900;
const prefixOf = { sample: "samples", delivery: "deliveries" } as const;
const actionOf = { sample: "uploadSample", delivery: "deliver" } as const;

/** Who uploads, and by which clock and settings that is judged. */
type Uploader = Pick<Services, "database" | "clock" | "settings"> & { userId: string };

/** Decides whether the caller may upload for this bid now; takes no lock. */
export async function checkUpload(uploader: Uploader, kind: UploadKind, bidId: string): Promise<Bid> {
  const { database, userId } = uploader;
  const bid = await getBid(database, bidId);
  const task = await findTask(database, bid.taskId);
  assertTaskAction(actionOf[kind], task, uploaderOf(task, bid, userId), momentOf(uploader));
  return bid;
}

/** Remembers what was declared and signs a URL that takes just that. */
export async function openUpload(
  { database, storage }: Services,
  kind: UploadKind,
  bidId: string,
  upload: DeclaredUpload,
) {
  const storageKey = `${prefixOf[kind]}/${bidId}/${crypto.randomUUID()}`;
  const { mimeType, bytes, dimensions, durationSec } = upload;
  await database.prisma.upload.create({
    data: {
      storageKey,
      bidId,
      kind,
      mimeType,
      bytes,
      durationSec,
      width: dimensions?.width,
      height: dimensions?.height,
    },
  });
  const uploadUrl = await storage.presignUpload({
    storageKey,
    mimeType,
    bytes,
    expiresInSeconds: UPLOAD_EXPIRES_IN_SECONDS,
  });
  return { uploadUrl, storageKey };
}

const badKey = (message: string) => new ApiError("invalid_input", { issues: [{ path: "storageKey", message }] });

/** The upload that was declared under this key for this bid. */
export async function findDeclared({ database }: Services, kind: UploadKind, bidId: string, storageKey: string) {
  if (!storageKey.startsWith(`${prefixOf[kind]}/${bidId}/`)) {
    throw badKey(`The key must start with ${prefixOf[kind]}/${bidId}/.`);
  }
  const declared = await database.prisma.upload.findUnique({ where: { storageKey } });
  if (declared === null || declared.bidId !== bidId || declared.kind !== kind) {
    throw badKey("No upload was initialised under this key.");
  }
  return declared;
}

/**
 * Seals what arrived under a declared key and hands the copy to `record`, which writes it down in a transaction: what
 * is recorded can then not be overwritten through the upload URL. `record` gives the artifact's row, which is an earlier
 * one when somebody else was first, or throws. Whichever of upload and copy is not needed is deleted.
 */
export async function sealUpload<Recorded extends { row: { storageKey: string } }>(
  services: Services,
  declared: { storageKey: string; bytes: number; mimeType: string },
  record: (sealed: SealedObject | null) => Promise<Recorded>,
): Promise<Recorded> {
  const { storage, log } = services;
  // A copy that is left behind costs a little space and nothing else.
  const discard = (storageKey: string) =>
    storage.delete(storageKey).catch((error: unknown) => log.warn({ storageKey, error }, "an object was left behind"));
  const sealed = await storage.seal(declared.storageKey);
  try {
    if (sealed !== null && (sealed.bytes !== declared.bytes || sealed.mimeType !== declared.mimeType)) {
      throw badKey("What was uploaded has another size or type than was declared.");
    }
    const recorded = await record(sealed);
    if (recorded.row.storageKey === sealed?.storageKey) await discard(declared.storageKey);
    else if (sealed !== null) await discard(sealed.storageKey);
    return recorded;
  } catch (error) {
    // Only a decision of ours says that the copy was not recorded: a connection that is lost during the commit does not.
    if (sealed !== null && error instanceof ApiError) await discard(sealed.storageKey);
    throw error;
  }
}

/** Locks the bid's task and decides again, now that nothing can change it. */
export async function lockForUpload(
  uploader: Uploader,
  tx: Transaction,
  kind: UploadKind,
  bidId: string,
): Promise<{ task: TaskRecord; bid: Bid; actor: TaskActor; moment: Moment }> {
  const { taskId } = await getBid(tx, bidId);
  const task = await lockTask(tx, taskId);
  const bid = await getBid(tx, bidId);
  const [actor, moment] = [uploaderOf(task, bid, uploader.userId), momentOf(uploader)];
  assertTaskAction(actionOf[kind], task, actor, moment);
  return { task, bid, actor, moment };
}

type ArtifactRow = Omit<Artifact, "downloadUrl" | "dimensions" | "durationSec" | "sha256"> & {
  storageKey: string;
  kind: UploadKind;
  sha256: string | null;
  width: number | null;
  height: number | null;
  durationSec: number | null;
};

/** Of `artifacts a JOIN uploads u ON u.storage_key = a.upload_key`. */
const artifactColumns = sql`
  a.id, a.bid_id AS "bidId", a.task_id AS "taskId", a.kind, a.storage_key AS "storageKey", a.sha256,
  a.created_at AS "createdAt", u.mime_type AS "mimeType", u.bytes, u.width, u.height, u.duration_sec AS "durationSec"`;

/** What an upload became, or null when it was not finalised. */
export async function findArtifact(connection: Connection, uploadKey: string): Promise<ArtifactRow | null> {
  const [row] = await connection.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.upload_key = ${uploadKey}`);
  return row ?? null;
}

export async function addArtifact(
  tx: Transaction,
  kind: UploadKind,
  { uploadKey, bid, sealed }: { uploadKey: string; bid: Bid; sealed: SealedObject | null },
): Promise<ArtifactRow> {
  if (sealed === null) throw badKey("Nothing has been uploaded under this key yet.");
  await tx.query(sql`
    INSERT INTO artifacts (upload_key, storage_key, bid_id, task_id, kind, sha256)
    VALUES (${uploadKey}, ${sealed.storageKey}, ${bid.id}::uuid, ${bid.taskId}::uuid, ${kind}, ${sealed.sha256})`);
  const row = await findArtifact(tx, uploadKey);
  if (row === null) throw new Error("the artifact that was just written is not there");
  return row;
}

/** The public record, with a download link that lives for 15 minutes. */
export async function toArtifact({ storage }: Pick<Services, "storage">, row: ArtifactRow): Promise<Artifact> {
  const { id, bidId, taskId, mimeType, bytes, createdAt, width, height, durationSec, sha256 } = row;
  const downloadUrl = await storage.presignDownload({
    storageKey: row.storageKey,
    fileName: `${row.kind}-${id}${extensionOf(mimeType)}`,
    mimeType,
    expiresInSeconds: DOWNLOAD_EXPIRES_IN_SECONDS,
  });
  return {
    ...{ id, bidId, taskId, mimeType, bytes, createdAt, downloadUrl },
    ...(width !== null && height !== null && { dimensions: { width, height } }),
    ...(durationSec !== null && { durationSec }),
    ...(sha256 !== null && { sha256 }),
  };
}

/** Everything that was finalised for these tasks, oldest first, by the task's id. */
export async function readArtifactsOfTasks(
  services: Pick<Services, "database" | "storage">,
  taskIds: readonly string[],
): Promise<Map<string, { samples: Artifact[]; deliveries: Artifact[] }>> {
  const rows = await services.database.query<ArtifactRow>(sql`
    SELECT ${artifactColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.task_id = ANY (${taskIds}::uuid[]) ORDER BY a.created_at`);
  const byTask = new Map(taskIds.map((id) => [id, { samples: [] as Artifact[], deliveries: [] as Artifact[] }]));
  for (const row of rows) {
    const artifact = await toArtifact(services, row);
    byTask.get(row.taskId)?.[row.kind === "sample" ? "samples" : "deliveries"].push(artifact);
  }
  return byTask;
}

/** Everything that was finalised for a task, oldest first. */
export async function readArtifacts(services: Pick<Services, "database" | "storage">, taskId: string) {
  return (await readArtifactsOfTasks(services, [taskId])).get(taskId) ?? { samples: [], deliveries: [] };
}

const extensions: Record<string, string> = {
  "image/jpeg": ".jpg",
  "audio/mpeg": ".mp3",
  "text/plain": ".txt",
  "text/markdown": ".md",
  "application/octet-stream": "",
};

function extensionOf(mimeType: string): string {
  return extensions[mimeType] ?? `.${mimeType.split("/")[1]}`;
}
