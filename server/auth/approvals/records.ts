import { createHash } from "node:crypto";
import type { ApprovableOperation, Approval, ApprovalStatus } from "../../schemas/approval.ts";
import { type Connection, empty, type Sql, sql } from "../../store/connection.ts";
import { summaryOf } from "./summary.ts";

/** What its owner sees of the task and the bid: if any of it changes, they look again. */
interface Shown {
  title: string;
  bid: { priceCents: number; payee: string } | null;
  agreementKind: string | null;
  isBuyer: boolean;
}

/** An approval with what it is about, as both are now. */
export interface ApprovalRow extends Omit<Approval, "amountCents" | "summary" | "version"> {
  userId: string;
  operation: ApprovableOperation;
  status: ApprovalStatus;
  /** As the row has it. */
  storedStatus: ApprovalStatus;
  stored: { amountCents: number; summary: string; version: string };
  shown: Shown | null;
}

/** `approvals a` with what says whether it can still be answered. */
export const approvalTables = sql`approvals a LEFT JOIN api_keys k ON k.id = a.key_id LEFT JOIN tasks t ON t.id = a.task_id
  LEFT JOIN agreements g ON g.id = a.subject_id LEFT JOIN bids b ON b.id = a.bid_id
  LEFT JOIN users payee ON payee.id = b.bidder_id`;

const hasKeyEnded = (now: Sql) => sql`(k.id IS NULL OR k.revoked_at IS NOT NULL OR k.expires_at <= ${now})`;
/** A task or agreement that ended after the time for an answer has made no difference. */
const hasSubjectEnded = sql`(
  (t.status IN ('accepted', 'resolved', 'cancelled', 'expired') AND t.closed_at < a.expires_at)
  OR (g.status <> 'pending' AND g.ended_at < a.expires_at))`;

/**
 * The status of `approvals a` at this moment: what ends a pending one is read where it happened, whether or not the sweep has
 * recorded that.
 */
export const statusAt = (now: Date): Sql => {
  const at = sql`${now.toISOString()}::timestamptz`;
  return sql`CASE
    WHEN a.status <> 'pending' THEN a.status
    WHEN ${hasKeyEnded(at)} OR ${hasSubjectEnded} THEN 'void'
    WHEN a.expires_at <= ${at} THEN 'expired'
    ELSE 'pending' END`;
};

/** Columns of `approvalTables`. */
export const approvalColumns = (now: Date): Sql => sql`
  a.id, a.user_id AS "userId", a.key_id AS "keyId", a.operation, a.task_id AS "taskId", a.bid_id AS "bidId", a.input,
  a.result, ${statusAt(now)} AS status, a.status AS "storedStatus", a.reason, a.error, a.created_at AS "createdAt",
  a.expires_at AS "expiresAt", a.decided_at AS "decidedAt", a.decided_by AS "decidedBy",
  json_build_object('amountCents', a.amount_cents, 'summary', a.summary, 'version', a.version) AS stored,
  CASE WHEN a.status = 'pending' AND t.id IS NOT NULL THEN json_build_object(
    'title', t.title, 'description', t.description, 'acceptanceCriteria', t.acceptance_criteria, 'tags', t.tags,
    'maxBudgetCents', t.max_budget_cents, 'revisions', t.revisions, 'deliveredAt', t.delivered_at,
    'checks', t.checks, 'checkKeys', t.check_keys, 'acceptAfterMinutes', t.accept_after_minutes, 'agreementKind', g.kind, 'isBuyer', t.buyer_id = a.user_id,
    'bid', CASE WHEN b.id IS NOT NULL THEN json_build_object('priceCents', b.price_cents, 'etaHours', b.eta_hours,
      'notes', b.notes, 'payeeId', payee.id, 'payee', payee.display_name) END) END AS shown`;

/** The approval as its owner and its key see it. */
export function toApproval(row: ApprovalRow): Approval {
  const { userId: _, storedStatus, stored, shown, ...approval } = row;
  const present = storedStatus === "pending" ? presentOf(row) : stored;
  return { ...approval, ...present };
}

/** What would happen if it were approved now. */
export function presentOf({ operation, input, stored, shown }: ApprovalRow): ApprovalRow["stored"] {
  // A bid can be changed until it is awarded; every other amount is in the input, or fixed by the award.
  const amountCents = operation === "tasks.award" && shown?.bid ? shown.bid.priceCents : stored.amountCents;
  const version = createHash("sha256")
    .update(JSON.stringify([amountCents, input, shown]))
    .digest("base64url");
  const about = { title: shown?.title, payee: shown?.bid?.payee, kind: shown?.agreementKind, isBuyer: shown?.isBuyer };
  return { amountCents, summary: summaryOf(operation, { amountCents, input, ...about }), version };
}

/** Returns the approvals that match, as they are at this moment. */
export function findApprovals(
  connection: Connection,
  now: Date,
  where: Sql,
  { lock = empty }: { lock?: Sql } = {},
): Promise<ApprovalRow[]> {
  return connection.query<ApprovalRow>(sql`
    SELECT ${approvalColumns(now)} FROM ${approvalTables} WHERE ${where} ${lock}`);
}

/** Locks an approval until the transaction ends, behind whoever decides it at this moment, and returns it as it is then. */
export async function lockApproval(connection: Connection, now: Date, id: string): Promise<ApprovalRow | null> {
  await connection.query(sql`SELECT 1 FROM approvals WHERE id = ${id}::uuid FOR UPDATE`);
  const [row] = await findApprovals(connection, now, sql`a.id = ${id}::uuid`);
  return row ?? null;
}
