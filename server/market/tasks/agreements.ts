import { ApiError } from "../../errors.ts";
import type { Agreement, AgreementStatus } from "../../schemas/agreement.ts";
import { type Connection, queryOne, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

/** Columns of `agreements a`. */
export const agreementColumns = sql`
  a.id, a.task_id AS "taskId", a.kind, a.proposed_by AS "proposedBy", a.reason, a.delivery_due_at AS "deliveryDueAt",
  a.bidder_cents AS "bidderCents", a.status, a.created_at AS "createdAt", a.expires_at AS "expiresAt",
  a.ended_at AS "endedAt"`;

/** Throws `not_found`. The agreement can change until its task is locked: read it again after that. */
export async function getAgreement(connection: Connection, id: string): Promise<Agreement> {
  const [agreement] = await connection.query<Agreement>(sql`
    SELECT ${agreementColumns} FROM agreements a WHERE a.id = ${id}::uuid`);
  if (!agreement) throw new ApiError("not_found");
  return agreement;
}

/** Returns the agreement of a task that is stored as pending; null if there is none. */
export async function findPending(connection: Connection, taskId: string): Promise<Agreement | null> {
  const [agreement] = await connection.query<Agreement>(sql`
    SELECT ${agreementColumns} FROM agreements a WHERE a.task_id = ${taskId}::uuid AND a.status = 'pending'`);
  return agreement ?? null;
}

/** Adds what one side of a locked task proposes. The database refuses a second pending one. */
export function addAgreement(
  tx: Transaction,
  proposal: Pick<Agreement, "taskId" | "kind" | "proposedBy" | "reason"> & {
    deliveryDueAt?: string | undefined;
    bidderCents?: number | undefined;
    expiresAt: Date;
  },
): Promise<Agreement> {
  const { taskId, kind, proposedBy, reason, deliveryDueAt = null, bidderCents = null, expiresAt } = proposal;
  return queryOne<Agreement>(
    tx,
    sql`
    INSERT INTO agreements AS a (task_id, kind, proposed_by, reason, delivery_due_at, bidder_cents, expires_at)
    VALUES (${taskId}::uuid, ${kind}, ${proposedBy}, ${reason}, ${deliveryDueAt}::timestamptz, ${bidderCents}::int,
            ${expiresAt.toISOString()}::timestamptz)
    RETURNING ${agreementColumns}`,
  );
}

/** Ends the pending agreement of a locked task, and returns it; null if there is none. */
export async function endPending(
  tx: Transaction,
  taskId: string,
  status: Exclude<AgreementStatus, "pending">,
  endedAt: Date,
): Promise<Agreement | null> {
  const [agreement] = await tx.query<Agreement>(sql`
    UPDATE agreements a SET status = ${status}, ended_at = ${endedAt.toISOString()}::timestamptz
    WHERE a.task_id = ${taskId}::uuid AND a.status = 'pending' RETURNING ${agreementColumns}`);
  return agreement ?? null;
}
