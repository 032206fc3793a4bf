import type { Clock } from "../../gateways/clock.ts";
import { answerBoundKeys, freeBoundKeys } from "../../repeats/keptAnswers.ts";
import type { ApprovalStatus } from "../../schemas/approval.ts";
import { empty, queryOne, sql } from "../../store/connection.ts";
import type { Database, Transaction } from "../../store/database.ts";
import {
  type ApprovalRow,
  approvalTables,
  findApprovals,
  lockApproval,
  presentOf,
  statusAt,
  toApproval,
} from "./records.ts";

interface Deciding {
  readonly database: Database;
  readonly clock: Clock;
}

/** How an approval stops being pending. */
interface End {
  status: Exclude<ApprovalStatus, "pending" | "superseded">;
  now: Date;
  decidedBy?: string;
  reason?: string;
  error?: object;
  result?: object;
}

/**
 * Ends a locked approval, as its owner saw it last: the keys with which it was asked get its result, or are free again, and
 * both hear of it.
 */
export async function endApproval(tx: Transaction, row: ApprovalRow, end: End): Promise<ApprovalRow> {
  const { status, now, decidedBy = null, reason = null, error = null, result = null } = end;
  const { amountCents, summary, version } = presentOf(row);
  await tx.query(sql`
    UPDATE approvals SET status = ${status}, decided_at = ${now.toISOString()}::timestamptz, decided_by = ${decidedBy}::uuid,
           reason = ${reason}, error = ${error === null ? null : JSON.stringify(error)}::json,
           result = ${result === null ? null : JSON.stringify(result)}::json,
           amount_cents = ${amountCents}::bigint, summary = ${summary}, version = ${version}
    WHERE id = ${row.id}::uuid AND status = 'pending'`);
  if (result === null) await freeBoundKeys(tx, [row.id]);
  else await answerBoundKeys(tx, row.id, result);
  const [ended] = await findApprovals(tx, now, sql`a.id = ${row.id}::uuid`);
  if (ended === undefined) throw new Error(`approval ${row.id} is gone`);
  tx.events.record("approval.decided", { approval: toApproval(ended) }, [row.userId]);
  return ended;
}

/** Records the end of an approval that nobody has answered in time, or that has lost its key or its subject. Does nothing otherwise. */
export async function endIfOver(tx: Transaction, row: ApprovalRow, now: Date): Promise<void> {
  if (row.storedStatus !== "pending" || (row.status !== "expired" && row.status !== "void")) return;
  await endApproval(tx, row, { status: row.status, now });
}

/** As `endIfOver`, in a transaction of its own: for the sweep. */
export async function endOverdueApproval(
  { database, clock }: Deciding,
  { approvalId }: { approvalId: string },
): Promise<void> {
  await database.transaction(async (tx) => {
    const now = clock.now();
    const row = await lockApproval(tx, now, approvalId);
    if (row !== null) await endIfOver(tx, row, now);
  });
}

/** Returns approvals that are over and stored as pending, oldest first, starting after `after`. */
export function findOverdueApprovals(
  { database, clock }: Deciding,
  limit: number,
  after: { approvalId: string } | null,
): Promise<{ approvalId: string }[]> {
  return database.query<{ approvalId: string }>(sql`
    SELECT a.id AS "approvalId" FROM ${approvalTables}
    WHERE a.status = 'pending' AND ${statusAt(clock.now())} <> 'pending'
      ${after === null ? empty : sql`AND (a.created_at, a.id) > (SELECT created_at, id FROM approvals WHERE id = ${after.approvalId}::uuid)`}
    ORDER BY a.created_at, a.id LIMIT ${limit}`);
}

interface Superseded {
  keyId: string;
  operation: string;
  subjectId: string;
  /** Only questions whose input has these fields. */
  input?: Record<string, string>;
}

/** Ends what this key has asked about the same subject, because it says something else now. Nobody is told of the old question. */
export async function supersede(
  tx: Transaction,
  { keyId, operation, subjectId, input = {} }: Superseded,
  now: Date,
): Promise<void> {
  const ended = await tx.query<{ id: string }>(sql`
    UPDATE approvals SET status = 'superseded', decided_at = ${now.toISOString()}::timestamptz
    WHERE key_id = ${keyId}::uuid AND operation = ${operation} AND subject_id = ${subjectId}::uuid AND status = 'pending'
      AND input::jsonb @> ${JSON.stringify(input)}::jsonb
    RETURNING id`);
  await freeBoundKeys(
    tx,
    ended.map(({ id }) => id),
  );
}

/** How many questions of a key wait for an answer. */
export async function countPending(tx: Transaction, keyId: string): Promise<number> {
  const { count } = await queryOne<{ count: number }>(
    tx,
    sql`SELECT count(*)::int AS count FROM approvals WHERE key_id = ${keyId}::uuid AND status = 'pending'`,
  );
  return count;
}
