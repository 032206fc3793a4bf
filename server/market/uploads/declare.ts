import { ApiError } from "../../errors.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Services } from "../../services.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { findBidOfTask, lockBid } from "../tasks/lockBid.ts";
import type { TaskRecord } from "../tasks/records.ts";
import { assertTaskAction, type Moment, momentOf, uploaderOf } from "../tasks/rules.ts";
import type { TaskActor } from "../tasks/stateMachine.ts";
import type { Refusal } from "./lease.ts";
import type { DeclaredUpload } from "./limits.ts";

export type UploadKind = "sample" | "delivery";

export const UPLOAD_EXPIRES_IN_SECONDS = 3_600;
const prefixOf = { sample: "samples", delivery: "deliveries" } as const;
const actionOf = { sample: "uploadSample", delivery: "deliver" } as const;

/** The caller, and the services needed to decide about an upload. */
export type Uploader = Pick<Services, "clock" | "settings"> & { userId: string };

/** Throws `not_found`, `forbidden` or `wrong_status` unless the caller may upload for this bid now. Takes no lock. */
export async function checkUpload(
  connection: Connection,
  uploader: Uploader,
  kind: UploadKind,
  bidId: string,
): Promise<void> {
  const { task, bid } = await findBidOfTask(connection, bidId);
  assertTaskAction(actionOf[kind], task, uploaderOf(task, bid, uploader.userId), momentOf(uploader));
}

/** What an upload URL is signed for. */
interface SignedUpload {
  storageKey: string;
  mimeType: string;
  bytes: number;
}

/** Stores what was declared under a new key. */
export async function declareUpload(
  tx: Transaction,
  kind: UploadKind,
  bidId: string,
  upload: DeclaredUpload,
): Promise<SignedUpload> {
  const storageKey = `${prefixOf[kind]}/${bidId}/${crypto.randomUUID()}`;
  const { mimeType, bytes, dimensions, durationSec, fileName } = upload;
  await tx.query(sql`
    INSERT INTO uploads (storage_key, bid_id, kind, mime_type, bytes, width, height, duration_sec, file_name)
    VALUES (${storageKey}, ${bidId}::uuid, ${kind}, ${mimeType}, ${bytes}, ${dimensions?.width ?? null},
            ${dimensions?.height ?? null}, ${durationSec ?? null}, ${fileName ?? null})`);
  return { storageKey, mimeType, bytes };
}

/** Signs a URL that accepts exactly what was declared. */
export async function signUpload({ storage }: Pick<Services, "storage">, upload: SignedUpload) {
  const uploadUrl = await storage.presignUpload({ ...upload, expiresInSeconds: UPLOAD_EXPIRES_IN_SECONDS });
  return { uploadUrl, storageKey: upload.storageKey };
}

/** An `invalid_input` about the field `storageKey`. */
export const invalidStorageKey = (message: string) =>
  new ApiError("invalid_input", { issues: [{ path: "storageKey", message }] });

/** An upload as its row has it. */
export type Declared = SignedUpload & { refusal: Refusal | null };

/**
 * Returns the upload that was declared with this key for this bid. Throws what `checkUpload` throws, and `invalid_input`
 * when there is none.
 */
export async function findDeclared(
  services: Uploader & Pick<Services, "database">,
  kind: UploadKind,
  bidId: string,
  storageKey: string,
): Promise<Declared> {
  const [, [declared]] = await Promise.all([
    checkUpload(services.database, services, kind, bidId),
    services.database.query<Declared & { bidId: string; kind: string }>(
      sql`
      SELECT storage_key AS "storageKey", mime_type AS "mimeType", bytes, refusal, bid_id AS "bidId", kind
      FROM uploads WHERE storage_key = ${storageKey}`,
      { sharesConnection: true },
    ),
  ]);
  if (!storageKey.startsWith(`${prefixOf[kind]}/${bidId}/`)) {
    throw invalidStorageKey(`The key must start with ${prefixOf[kind]}/${bidId}/.`);
  }
  if (declared === undefined || declared.bidId !== bidId || declared.kind !== kind) {
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
  const { task, bid } = await lockBid(tx, bidId);
  const [actor, moment] = [uploaderOf(task, bid, uploader.userId), momentOf(uploader)];
  assertTaskAction(actionOf[kind], task, actor, moment);
  return { task, bid, actor, moment };
}
