import { ApiError } from "../../errors.ts";
import type { Clock } from "../../gateways/clock.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import type { KeyHolder, Principal } from "../principal.ts";
import { type ApprovalRow, findApprovals, lockApproval, toApproval } from "./records.ts";

interface DecidingServices {
  readonly database: Connection;
  readonly clock: Clock;
}

/** Returns an approval of this caller: a session has those of all its keys, a key its own. Throws `not_found`. */
export async function getApproval(
  { database, clock }: DecidingServices,
  principal: Principal,
  id: string,
): Promise<ApprovalRow> {
  const [row] = await findApprovals(database, clock.now(), sql`a.id = ${id}::uuid AND ${ownedBy(principal)}`);
  if (row === undefined) throw new ApiError("not_found");
  return row;
}

/** Which of `approvals a` a caller sees. */
export const ownedBy = (principal: Principal) =>
  principal.kind === "apiKey" ? sql`a.key_id = ${principal.keyId}::uuid` : sql`a.user_id = ${principal.userId}::uuid`;

/** Throws `wrong_status` for an approval that is over, and `approval_changed` for one that is no longer as it was seen. */
export function assertDecidable(row: ApprovalRow, seen?: string): void {
  if (row.status !== "pending") {
    throw new ApiError("wrong_status", { message: `This is over already: the approval is ${row.status}.` });
  }
  const approval = toApproval(row);
  if (seen !== undefined && seen !== approval.version) throw new ApiError("approval_changed", { approval });
}

/**
 * Locks what a decision is about, and then the approval, in the order in which the operations lock: what was seen stays so until
 * the transaction ends. Throws as `getApproval` and `assertDecidable` do.
 */
export async function lockForDecision(
  tx: Transaction,
  { clock }: Pick<DecidingServices, "clock">,
  { id, taskId, userId }: Pick<ApprovalRow, "id" | "taskId" | "userId">,
  seen?: string,
): Promise<ApprovalRow> {
  if (taskId !== null) await tx.query(sql`SELECT 1 FROM tasks WHERE id = ${taskId}::uuid FOR NO KEY UPDATE`);
  const row = await lockApproval(tx, clock.now(), id);
  if (row === null || row.userId !== userId) throw new ApiError("not_found");
  assertDecidable(row, seen);
  return row;
}

/** The key as it is now, doing what this user has approved. Throws `wrong_status` for one that has ended. */
export async function principalOf(connection: Connection, row: ApprovalRow, approvedBy: string): Promise<Principal> {
  const [key] = await connection.query<
    Pick<KeyHolder, "scopes" | "hasSpendLimit" | "approvalAboveCents" | "isGrant">
  >(sql`
    SELECT scopes, spend_limit_cents IS NOT NULL AS "hasSpendLimit", approval_above_cents AS "approvalAboveCents",
           kind = 'grant' AS "isGrant"
    FROM api_keys WHERE id = ${row.keyId}::uuid`);
  if (key === undefined) throw new ApiError("wrong_status");
  return { kind: "apiKey", userId: row.userId, keyId: row.keyId, ...key, approvedBy };
}
