import { type BuiltInCheck, isBuiltIn } from "../../schemas/check.ts";
import type { Services } from "../../services.ts";
import { type Connection, empty, sql } from "../../store/connection.ts";
import type { JobPayload } from "../../store/jobPayloads.ts";
import { extendingLease, isFree, type Lease, releaseLease, takeLease } from "../../store/lease.ts";
import { lockTask } from "../tasks/records.ts";
import { momentOf } from "../tasks/rules.ts";
import { endedChecks, withVerdicts } from "../uploads/checkResults.ts";
import { type CheckedDelivery, recordResults } from "./acceptance.ts";
import { type JudgedFile, judgeFile } from "./judgeFile.ts";

/** One worker judges a delivery; if it dies, another begins again. Should both go on, the first to end is recorded. */
const checking: Lease = { table: sql`artifacts`, column: sql`checking_until`, seconds: 20 };
const rowOf = (deliveryId: string) => sql`id = ${deliveryId}::uuid AND checking`;

/**
 * Judges a delivery by the built-in checks of its task, outside of any transaction, and records what they came to. Does nothing
 * if that has been done, or another worker does it.
 */
export async function checkDelivery(services: Services, { deliveryId }: JobPayload<"checkDelivery">): Promise<void> {
  const { database } = services;
  const row = rowOf(deliveryId);
  if ((await takeLease(database, checking, { row, returning: sql`id` })) === null) return;
  try {
    await extendingLease(services, checking, row, () => judgeAndRecord(services, deliveryId));
  } catch (error) {
    // Whoever tries again need not wait for its end.
    await releaseLease(database, checking, row).catch(() => undefined);
    throw error;
  }
}

async function judgeAndRecord(services: Services, deliveryId: string): Promise<void> {
  const { taskId, checks, ...file } = await readJudged(services.database, deliveryId);
  const builtIn = checks.filter(isBuiltIn);
  const verdicts = await judgeFile(services, file, builtIn);
  await services.database.transaction(async (tx) => {
    const task = await lockTask(tx, taskId);
    const delivery = await findChecked(tx, deliveryId);
    if (delivery === null || !delivery.checking) return;
    const moment = momentOf(services);
    const judged = { ...delivery, checks: withVerdicts(delivery.checks, builtIn, verdicts, moment.now) };
    await recordResults(tx, task, judged, moment, { endsBuiltIn: true });
  });
}

type Judged = JudgedFile & { taskId: string; checks: BuiltInCheck[] };

async function readJudged(connection: Connection, deliveryId: string): Promise<Judged> {
  const [judged] = await connection.query<Judged>(sql`
    SELECT a.task_id AS "taskId", t.checks, a.storage_key AS "storageKey", a.sha256, u.bytes, u.mime_type AS "mimeType"
    FROM artifacts a JOIN tasks t ON t.id = a.task_id JOIN uploads u ON u.storage_key = a.upload_key
    WHERE a.id = ${deliveryId}::uuid`);
  if (judged === undefined) throw new Error(`there is no delivery ${deliveryId}`);
  return judged;
}

/** Returns a delivery that has checks; null if there is none. Read it behind its task's lock. */
export async function findChecked(
  connection: Connection,
  deliveryId: string,
): Promise<(CheckedDelivery & { taskId: string; checking: boolean }) | null> {
  const [found] = await connection.query<CheckedDelivery & { taskId: string; checking: boolean }>(sql`
    SELECT a.id, a.task_id AS "taskId", coalesce(a.checks, '[]') AS checks, a.checking, a.superseded_at AS "supersededAt",
           a.changes_requested AS "changesRequested", ${endedChecks} AS "endedChecks"
    FROM artifacts a WHERE a.id = ${deliveryId}::uuid AND a.kind = 'delivery'`);
  return found ?? null;
}

/** Returns deliveries that nobody judges though they are to be, oldest first, starting after `after`. */
export function findUnchecked(
  { database }: Pick<Services, "database">,
  limit: number,
  after: { deliveryId: string } | null,
): Promise<{ deliveryId: string }[]> {
  return database.query<{ deliveryId: string }>(sql`
    SELECT id AS "deliveryId" FROM artifacts
    WHERE checking AND ${isFree(checking)}
      ${after === null ? empty : sql`AND (created_at, id) > (SELECT created_at, id FROM artifacts WHERE id = ${after.deliveryId}::uuid)`}
    ORDER BY created_at, id LIMIT ${limit}`);
}
