import type { ModerationAction } from "../../schemas/moderation.ts";
import { sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";

/** What a moderator did, on a user, about a dispute, or to a user's question. */
interface Done {
  action: ModerationAction["action"];
  /** Null for an operator at the command line. */
  moderatorId: string | null;
  userId?: string;
  disputeId?: string;
  questionId?: string;
  reason?: string | null | undefined;
}

/** Columns of `moderation_actions a` with the users `moderator` and `subject`, both left joined. */
export const actionColumns = sql`
  a.id, a.action, a.dispute_id AS "disputeId", a.question_id AS "questionId", a.reason, a.created_at AS "createdAt",
  CASE WHEN moderator.id IS NOT NULL THEN json_build_object('id', moderator.id, 'displayName', moderator.display_name) END AS moderator,
  CASE WHEN subject.id IS NOT NULL THEN json_build_object('id', subject.id, 'displayName', subject.display_name) END AS user`;

export const actionTables = sql`moderation_actions a LEFT JOIN users moderator ON moderator.id = a.moderator_id
  LEFT JOIN users subject ON subject.id = a.user_id`;

/** Records what a moderator did, in the transaction that does it. Nothing changes or deletes such a record. */
export async function recordAction(
  tx: Transaction,
  { action, moderatorId, userId, disputeId, questionId, reason }: Done,
): Promise<void> {
  await tx.query(sql`
    INSERT INTO moderation_actions (moderator_id, action, user_id, dispute_id, question_id, reason)
    VALUES (${moderatorId}::uuid, ${action}, ${userId ?? null}::uuid, ${disputeId ?? null}::uuid,
            ${questionId ?? null}::uuid, ${reason || null})`);
}
