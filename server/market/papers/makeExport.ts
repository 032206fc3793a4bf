import type { ExportRecord } from "../../schemas/export.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { extendingLease, type Lease, takeLease, timeOf } from "../../store/lease.ts";
import { logFailure } from "../../store/logFailure.ts";
import { contentOf } from "./content.ts";
import { exportColumns, mimeTypes, type PendingExport, storageKeyOf } from "./exports.ts";

const LEASE_SECONDS = 180;
const MAX_ATTEMPTS = 5;

const now = sql`service_now()`;
const lease: Lease = { table: sql`exports`, column: sql`due_at`, seconds: LEASE_SECONDS, now };

/**
 * Makes the file of an export and stores it. It may run twice or die half way: the key follows from the export's id, so what is
 * stored again replaces itself, and only the first to finish records it, with the event. After five attempts the export is
 * `failed`. If it was ended meanwhile, as by the closing of the account, the file is deleted again.
 */
export async function makeExport(services: Services, { exportId }: JobPayload<"makeExport">): Promise<void> {
  const { database, storage, log } = services;
  const pending = await takeLease<PendingExport>(database, lease, {
    row: sql`id = ${exportId}::uuid AND status = 'pending' AND expires_at > ${now}`,
    set: sql`attempts = attempts + 1`,
    returning: sql`id, user_id AS "userId", kind, format, month, task_id AS "taskId", topup_id AS "topupId",
                   payout_id AS "payoutId", attempts`,
  });
  if (pending === null) return;
  const mine = sql`id = ${exportId}::uuid AND status = 'pending' AND attempts = ${pending.attempts}`;
  try {
    if (pending.attempts > MAX_ATTEMPTS) throw new Error("it was begun five times, and never ended");
    await extendingLease(services, lease, mine, async () => {
      const { fileName, content } = await contentOf(services, pending);
      await storage.write(storageKeyOf(exportId), mimeTypes[pending.format], content);
      if (!(await recordReady(services, pending, { fileName, bytes: content.length }))) {
        await storage.delete(storageKeyOf(exportId));
      }
    });
  } catch (error) {
    logFailure(log, error, { exportId }, "an export could not be made");
    await recordFailure(services, pending);
  }
}

/** Returns false if the export has ended meanwhile. */
function recordReady(
  { database }: Services,
  { id, userId }: PendingExport,
  { fileName, bytes }: { fileName: string; bytes: number },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [known] = await tx.query<{ status: string }>(sql`
      SELECT status FROM exports WHERE id = ${id}::uuid AND expires_at > ${now} FOR UPDATE`);
    if (known?.status !== "pending") return known !== undefined;
    const [ready] = await tx.query<ExportRecord>(sql`
      UPDATE exports AS x SET status = 'ready', file_name = ${fileName}, bytes = ${bytes} WHERE id = ${id}::uuid
      RETURNING ${exportColumns}`);
    if (ready) tx.events.record("export.ready", { export: ready }, [userId]);
    return true;
  });
}

/** It is tried again soon, and less soon each time. */
async function recordFailure({ database }: Services, { id, attempts }: PendingExport): Promise<void> {
  await database.query(sql`
    UPDATE exports SET status = ${attempts >= MAX_ATTEMPTS ? "failed" : "pending"},
           due_at = ${now} + make_interval(secs => ${4 ** attempts}::int)
    WHERE id = ${id}::uuid AND status = 'pending' AND attempts = ${attempts}`);
}

/** Returns exports that a lost or failed job has left. */
export function findDueExports({ database, clock }: Services, limit: number): Promise<{ exportId: string }[]> {
  // A job that was just added has a moment to begin.
  const before = timeOf(new Date(clock.now().getTime() - 2_000));
  return database.query<{ exportId: string }>(sql`
    SELECT id AS "exportId" FROM exports WHERE status = 'pending' AND due_at <= ${before} AND expires_at > ${now}
    ORDER BY due_at LIMIT ${limit}`);
}
