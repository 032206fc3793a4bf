import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Services } from "../../services.ts";
import type { Transaction } from "../../store/database.ts";
import { getBid } from "../bids/records.ts";
import { findTask, lockTask, type TaskRecord } from "../tasks/records.ts";
import { assertTaskAction, type Moment, momentOf, uploaderOf } from "../tasks/rules.ts";
import type { TaskActor } from "../tasks/stateMachine.ts";
import type { DeclaredUpload } from "./limits.ts";

export type UploadKind = "sample" | "delivery";

const UPLOAD_EXPIRES_IN_SECONDS = 3_600;
const prefixOf = { sample: "samples", delivery: "deliveries" } as const;
const actionOf = { sample: "uploadSample", delivery: "deliver" } as const;

/** The caller, and the services needed to decide about an upload. */
type Uploader = Pick<Services, "database" | "clock" | "settings"> & { userId: string };

/** Throws `not_found`, `forbidden` or `wrong_status` unless the caller may upload for this bid now. Takes no lock. */
export async function checkUpload(uploader: Uploader, kind: UploadKind, bidId: string): Promise<Bid> {
  const { database, userId } = uploader;
  const bid = await getBid(database, bidId);
  const task = await findTask(database, bid.taskId);
  assertTaskAction(actionOf[kind], task, uploaderOf(task, bid, userId), momentOf(uploader));
  return bid;
}

/** Stores what was declared and signs a URL that accepts exactly that. */
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

/** An `invalid_input` about the field `storageKey`. */
export const invalidStorageKey = (message: string) =>
  new ApiError("invalid_input", { issues: [{ path: "storageKey", message }] });

/** Returns the upload that was declared with this key for this bid. Throws `invalid_input` when there is none. */
export async function findDeclared({ database }: Services, kind: UploadKind, bidId: string, storageKey: string) {
  if (!storageKey.startsWith(`${prefixOf[kind]}/${bidId}/`)) {
    throw invalidStorageKey(`The key must start with ${prefixOf[kind]}/${bidId}/.`);
  }
  const declared = await database.prisma.upload.findUnique({ where: { storageKey } });
  if (declared === null || declared.bidId !== bidId || declared.kind !== kind) {
    throw invalidStorageKey("No upload was started with this key.");
  }
  return declared;
}

/** Locks the bid's task and repeats `checkUpload`, now that nothing can change it. */
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
