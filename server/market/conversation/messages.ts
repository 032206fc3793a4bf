import { ApiError } from "../../errors.ts";
import type { MessageFile } from "../../schemas/file.ts";
import type { Message } from "../../schemas/message.ts";
import type { Services } from "../../services.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { type SealedRow, sealedColumns, signDownload } from "../uploads/artifacts.ts";
import type { Talk } from "./talk.ts";

/** A message's row, without its files. */
export type MessageRow = Omit<Message, "files">;

/** Columns of `messages m`. A join would let the planner read a whole conversation for one page, with few users. */
export const messageColumns = sql`
  m.id, m.bid_id AS "bidId", m.task_id AS "taskId", m.role, m.text, m.created_at AS "createdAt",
  (SELECT json_build_object('id', u.id, 'displayName', u.display_name) FROM users u WHERE u.id = m.sender_id) AS sender`;

type FileRow = SealedRow & { messageId: string };

interface NewMessage {
  senderId: string;
  text: string | null;
  fileIds: readonly string[];
}

/**
 * Adds a message to a conversation whose task is locked, so that its messages have ascending times and counts, and puts it on
 * top of both sides' lists. Throws `invalid_input` for a file that is not the sender's, not of this conversation, or used already.
 */
export async function addMessage(
  tx: Transaction,
  { task, bid, role }: Talk,
  { senderId, text, fileIds }: NewMessage,
): Promise<{ message: MessageRow; files: FileRow[] }> {
  const message = await queryOne<MessageRow>(
    tx,
    sql`
    WITH last AS (
      SELECT to_buyer, to_bidder, created_at FROM messages WHERE bid_id = ${bid.id}::uuid ORDER BY created_at DESC LIMIT 1
    ), m AS (
      INSERT INTO messages (bid_id, task_id, sender_id, role, text, file_count, to_buyer, to_bidder, created_at)
      SELECT ${bid.id}::uuid, ${task.id}::uuid, ${senderId}::uuid, ${role}, ${text}, ${fileIds.length},
             coalesce(to_buyer, 0) + ${role === "buyer" ? 0 : 1}, coalesce(to_bidder, 0) + ${role === "bidder" ? 0 : 1},
             greatest(service_now(), last.created_at + interval '1 microsecond')
      FROM (VALUES (1)) AS one LEFT JOIN last ON true
      RETURNING *
    ), sides AS (
      INSERT INTO conversations AS c (bid_id, user_id, side, with_id, last_message_id, updated_at)
      SELECT m.bid_id, side.user_id, side.name, side.with_id, m.id, m.created_at
      FROM m, (VALUES ('buyer', ${task.buyerId}::uuid, ${bid.bidder.id}::uuid),
                      ('bidder', ${bid.bidder.id}::uuid, ${task.buyerId}::uuid)) AS side (name, user_id, with_id)
      ON CONFLICT (bid_id, user_id) DO UPDATE SET last_message_id = excluded.last_message_id, updated_at = excluded.updated_at
    )
    SELECT ${messageColumns} FROM m`,
  );
  return { message, files: await takeFiles(tx, message, { senderId, fileIds }) };
}

/** Puts the sender's uploaded files into the message. */
async function takeFiles(
  tx: Transaction,
  { id, bidId }: MessageRow,
  { senderId, fileIds }: Pick<NewMessage, "senderId" | "fileIds">,
): Promise<FileRow[]> {
  if (fileIds.length === 0) return [];
  const files = await tx.query<FileRow>(sql`
    WITH a AS (
      UPDATE artifacts SET message_id = ${id}::uuid
      WHERE id = ANY (${fileIds}::uuid[]) AND kind = 'message' AND bid_id = ${bidId}::uuid AND owner_id = ${senderId}::uuid
        AND message_id IS NULL
      RETURNING *)
    SELECT ${sealedColumns}, a.message_id AS "messageId" FROM a JOIN uploads u ON u.storage_key = a.upload_key
    ORDER BY a.created_at`);
  if (files.length < fileIds.length) {
    const message =
      "Each must be a file that you have uploaded for this conversation, once, and that is in no message yet.";
    throw new ApiError("invalid_input", { issues: [{ path: "fileIds", message }] });
  }
  return files;
}

/** Returns the files of these messages, oldest first. */
export async function readFiles(connection: Connection, messages: readonly MessageRow[]): Promise<FileRow[]> {
  if (messages.length === 0) return [];
  return connection.query<FileRow>(sql`
    SELECT ${sealedColumns}, a.message_id AS "messageId" FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.message_id = ANY (${messages.map(({ id }) => id)}::uuid[]) ORDER BY a.created_at`);
}

/** The public record of a message, with links to its files. */
export async function toMessage(
  services: Pick<Services, "storage">,
  message: MessageRow,
  files: readonly FileRow[],
): Promise<Message> {
  const own = files.filter(({ messageId }) => messageId === message.id);
  return { ...message, files: await Promise.all(own.map((row) => toMessageFile(services, row))) };
}

/** The public record of a file for messages, with a link. */
export async function toMessageFile(services: Pick<Services, "storage">, row: SealedRow): Promise<MessageFile> {
  const { id, fileName, mimeType, detectedMimeType, bytes, sha256, createdAt } = row;
  const downloadUrl = await signDownload(services, row);
  return { id, fileName, mimeType, detectedMimeType, bytes, sha256, createdAt, downloadUrl };
}
