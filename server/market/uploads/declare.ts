import { ApiError } from "../../errors.ts";
import type { Visibility } from "../../schemas/file.ts";
import type { Services } from "../../services.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { CallerContext } from "../../trpc.ts";
import type { Refusal } from "./lease.ts";
import { assertUserTotals, type DeclaredUpload } from "./limits.ts";

export type UploadKind = "sample" | "delivery" | "brief" | "message";

export const UPLOAD_EXPIRES_IN_SECONDS = 3_600;
const prefixOf = { sample: "samples", delivery: "deliveries", brief: "briefs", message: "messages" } as const;

/** What files are uploaded for, by one caller. */
export interface Destination {
  kind: UploadKind;
  /** The task of a brief; the bid of every other kind. */
  id: string;
  /** Throws unless the caller may upload now. Takes no lock. */
  mayUpload(connection: Connection): Promise<void>;
  /** Throws if there are as many files as there may be. Takes no lock. */
  hasRoom?(connection: Connection): Promise<void>;
}

/** What an upload URL is signed for. */
interface SignedUpload {
  storageKey: string;
  mimeType: string;
  bytes: number;
}

/** Stores what is declared under a new key, and signs a URL that accepts exactly that. */
export async function startUpload(
  ctx: CallerContext,
  destination: Destination,
  upload: DeclaredUpload & { visibility?: Visibility },
): Promise<{ uploadUrl: string; storageKey: string }> {
  const declared = await ctx.change(async (tx) => {
    await destination.mayUpload(tx);
    await destination.hasRoom?.(tx);
    return declareUpload(tx, destination, ctx.userId, upload);
  });
  const uploadUrl = await ctx.storage.presignUpload({ ...declared, expiresInSeconds: UPLOAD_EXPIRES_IN_SECONDS });
  return { uploadUrl, storageKey: declared.storageKey };
}

async function declareUpload(
  tx: Connection,
  { kind, id }: Destination,
  ownerId: string,
  { mimeType, bytes, dimensions, durationSec, fileName, visibility }: DeclaredUpload & { visibility?: Visibility },
): Promise<SignedUpload> {
  const storageKey = `${prefixOf[kind]}/${id}/${crypto.randomUUID()}`;
  const [bidId, taskId] = kind === "brief" ? [null, id] : [id, null];
  await tx.query(sql`
    INSERT INTO uploads (storage_key, bid_id, task_id, owner_id, kind, mime_type, bytes, width, height, duration_sec, file_name,
                         visibility)
    VALUES (${storageKey}, ${bidId}::uuid, ${taskId}::uuid, ${ownerId}::uuid, ${kind}, ${mimeType}, ${bytes},
            ${dimensions?.width ?? null}, ${dimensions?.height ?? null}, ${durationSec ?? null}, ${fileName ?? null},
            ${visibility ?? null})`);
  // A trigger has added the upload, and others of this user wait for the row.
  if (kind === "brief" || kind === "message") {
    const totals = sql`SELECT bytes, open FROM file_totals WHERE user_id = ${ownerId}::uuid`;
    assertUserTotals(await queryOne<{ bytes: number; open: number }>(tx, totals));
  }
  return { storageKey, mimeType, bytes };
}

/** An `invalid_input` about the field `storageKey`. */
export const invalidStorageKey = (message: string) =>
  new ApiError("invalid_input", { issues: [{ path: "storageKey", message }] });

/** An upload as its row has it. */
export type Declared = SignedUpload & { refusal: Refusal | null };

/**
 * Returns the upload that was declared with this key for this destination. Throws what `mayUpload` throws, and `invalid_input`
 * when there is none.
 */
export async function findDeclared(
  { database }: Pick<Services, "database">,
  { kind, id, mayUpload }: Destination,
  storageKey: string,
): Promise<Declared> {
  const [, [declared]] = await Promise.all([
    mayUpload(database),
    database.query<Declared & { kind: string }>(
      sql`
      SELECT storage_key AS "storageKey", mime_type AS "mimeType", bytes, refusal, kind
      FROM uploads WHERE storage_key = ${storageKey}`,
      { sharesConnection: true },
    ),
  ]);
  // The key has the kind and the id.
  const prefix = `${prefixOf[kind]}/${id}/`;
  if (!storageKey.startsWith(prefix)) throw invalidStorageKey(`The key must start with ${prefix}.`);
  if (declared === undefined) throw invalidStorageKey("No upload was started with this key.");
  return declared;
}
