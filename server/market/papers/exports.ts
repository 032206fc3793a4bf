import type { Principal } from "../../auth/principal.ts";
import { ApiError } from "../../errors.ts";
import { SEALED_PREFIX } from "../../gateways/storage.ts";
import type { CreateExport, ExportRecord } from "../../schemas/export.ts";
import type { Services } from "../../services.ts";
import { type Sql, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { DOWNLOAD_EXPIRES_IN_SECONDS } from "../uploads/artifacts.ts";
import type { ReceiptSubject } from "./receipts.ts";

/** Source: docs/contract.md "Limits". */
const MAX_UNFINISHED = 5;
const KEPT_DAYS = 7;

/** Columns of `exports x`, as its public record has them. */
export const exportColumns = sql`
  x.id, x.kind, x.format, x.status, x.file_name AS "fileName", x.bytes, x.created_at AS "createdAt", x.expires_at AS "expiresAt"`;

/** An export that is to be made. */
export type PendingExport = Pick<ExportRecord, "id" | "kind" | "format"> &
  ReceiptSubject & { userId: string; month: string | null; attempts: number };

/** Where the file is. No upload URL leads there. */
export const storageKeyOf = (exportId: string) => `${SEALED_PREFIX}exports/${exportId}`;

export const mimeTypes: Record<ExportRecord["format"], string> = {
  csv: "text/csv; charset=utf-8",
  json: "application/json",
  pdf: "application/pdf",
};

/** What this caller may see of their own: not what is over, and as a key not the whole account, which only sessions read. */
export function shownTo({ principal, clock }: { principal: Principal } & Pick<Services, "clock">): Sql {
  const living = sql`x.expires_at > ${clock.now().toISOString()}::timestamptz`;
  return principal.kind === "session" ? living : sql`${living} AND x.kind <> 'account'`;
}

/** Adds an export, and the job that makes it. The user must be locked, so that the limit is exact. Throws `limit_reached`. */
export async function addExport(
  tx: Transaction,
  { userId, clock }: { userId: string } & Pick<Services, "clock">,
  { kind, format, month, taskId, topupId, payoutId }: CreateExport,
): Promise<ExportRecord> {
  const [added] = await tx.query<ExportRecord>(sql`
    INSERT INTO exports AS x (user_id, kind, format, month, task_id, topup_id, payout_id, created_at, expires_at)
    SELECT ${userId}::uuid, ${kind}, ${format}, ${month ?? null}, ${taskId ?? null}::uuid, ${topupId ?? null}::uuid,
           ${payoutId ?? null}::uuid, clock.now, clock.now + make_interval(days => ${KEPT_DAYS})
    FROM (SELECT service_now() AS now) AS clock
    WHERE (SELECT count(*) FROM exports
           WHERE user_id = ${userId}::uuid AND status = 'pending' AND expires_at > ${clock.now().toISOString()}::timestamptz
          ) < ${MAX_UNFINISHED}
    RETURNING ${exportColumns}`);
  if (!added) {
    const message = `${MAX_UNFINISHED} of your exports are still being made: wait until one is ready.`;
    throw new ApiError("limit_reached", { message, limit: MAX_UNFINISHED });
  }
  tx.jobs.add("makeExport", { exportId: added.id });
  return added;
}

/** The public record, with a link once the file is there. */
export async function signExport({ storage }: Pick<Services, "storage">, record: ExportRecord) {
  if (record.status !== "ready" || record.fileName === null) return record;
  const downloadUrl = await storage.presignDownload({
    storageKey: storageKeyOf(record.id),
    fileName: record.fileName,
    mimeType: mimeTypes[record.format],
    expiresInSeconds: DOWNLOAD_EXPIRES_IN_SECONDS,
  });
  return { ...record, downloadUrl };
}
