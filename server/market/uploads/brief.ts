import { ApiError } from "../../errors.ts";
import type { BriefFile, Visibility } from "../../schemas/file.ts";
import type { Services } from "../../services.ts";
import { type Connection, isoTimestamp, join, type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { CallerContext } from "../../trpc.ts";
import { changeOpenTask, contentEdited } from "../tasks/changeOpenTask.ts";
import { findTask, lockTask, type TaskRecord } from "../tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../tasks/rules.ts";
import { addSealed, type SealedRow, sealedColumns, signDownload } from "./artifacts.ts";
import type { Destination } from "./declare.ts";
import { discardUploads } from "./discard.ts";
import type { SealedUpload } from "./finalize.ts";
import { assertRoomInBrief } from "./limits.ts";

/** A file of a task's brief. */
export type BriefFileRow = SealedRow & { visibility: Visibility };

/** Columns of `artifacts a JOIN uploads u ON u.storage_key = a.upload_key`. */
export const briefFileColumns = sql`${sealedColumns}, u.visibility`;

/** The files of a brief, which its buyer uploads while the task is open. */
export function briefOf(ctx: CallerContext, taskId: string): Destination {
  return {
    ...{ kind: "brief", id: taskId },
    mayUpload: async (connection) => assertMayChange(ctx, await findTask(connection, taskId)),
    hasRoom: async (connection) => assertRoomInBrief(await findTask(connection, taskId)),
  };
}

function assertMayChange(ctx: CallerContext, task: TaskRecord): void {
  assertTaskAction("changeFiles", task, actorOf(task, ctx.userId), momentOf(ctx));
}

/** Adds a sealed upload to the brief, which counts as editing it. */
export async function addBriefFile(
  ctx: CallerContext,
  tx: Transaction,
  taskId: string,
  sealed: SealedUpload | null,
): Promise<BriefFileRow> {
  const task = await lockTask(tx, taskId);
  assertMayChange(ctx, task);
  assertRoomInBrief(task);
  const row = await addSealed<BriefFileRow>(tx, { kind: "brief", bidId: null, taskId }, sealed, briefFileColumns);
  await changeOpenTask(tx, task, join([sql`file_count = file_count + 1`, contentEdited]));
  return row;
}

/** Removes a file from the brief, which counts as editing it. Throws `not_found`. */
export async function removeBriefFile(
  ctx: CallerContext,
  tx: Transaction,
  taskId: string,
  fileId: string,
): Promise<void> {
  const task = await lockTask(tx, taskId);
  assertMayChange(ctx, task);
  const count = await discardUploads(tx, sql`id = ${fileId}::uuid AND task_id = ${taskId}::uuid AND kind = 'brief'`);
  if (count === 0) throw new ApiError("not_found");
  await changeOpenTask(tx, task, join([sql`file_count = file_count - 1`, contentEdited]));
}

/** JSON of the files of the brief of `tasks t`, oldest first, for `briefFilesFromJson`. */
export const briefFilesOf: Sql = sql`CASE WHEN t.file_count > 0 THEN (
    SELECT json_agg(file) FROM (
      SELECT ${briefFileColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
      WHERE a.task_id = t.id AND a.kind = 'brief' ORDER BY a.created_at) file)
  END`;

/** Returns the files in what `briefFilesOf` returned, which is null for none. */
export const briefFilesFromJson = (files: readonly BriefFileRow[] | null): BriefFileRow[] =>
  (files ?? []).map((file) => ({ ...file, createdAt: isoTimestamp(file.createdAt) }));

/** Returns the files of a task's brief, oldest first. */
export function readBriefFiles(connection: Connection, taskId: string): Promise<BriefFileRow[]> {
  return connection.query<BriefFileRow>(sql`
    SELECT ${briefFileColumns} FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.task_id = ${taskId}::uuid AND a.kind = 'brief' ORDER BY a.created_at`);
}

/** The public record. A reader who is no party to the award gets neither link nor hash of a file that is for those. */
export async function toBriefFile(
  services: Pick<Services, "storage">,
  row: BriefFileRow,
  isParty: boolean,
): Promise<BriefFile> {
  const { id, fileName, mimeType, detectedMimeType, bytes, sha256, visibility, createdAt } = row;
  const record = { id, fileName, mimeType, detectedMimeType, bytes, sha256, visibility, createdAt };
  if (!isParty && visibility === "awarded") return { ...record, sha256: null };
  return { ...record, downloadUrl: await signDownload(services, row) };
}
