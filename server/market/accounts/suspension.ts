import type { Actor, SecurityLog } from "../../auth/securityLog.ts";
import { endSessions } from "../../auth/sessions.ts";
import { ApiError } from "../../errors.ts";
import type { ModeratedUser } from "../../schemas/moderation.ts";
import { type Connection, sql } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { recordAction } from "../moderation/actions.ts";
import { moderatedUserColumns } from "../moderation/findUsers.ts";

interface Order {
  userId: string;
  by: Actor;
  reason?: string | undefined;
}

/** The clock, and where decisions are recorded besides the database. */
interface ModerationServices {
  readonly clock: { now(): Date };
  readonly securityLog: SecurityLog;
}

/** Waits for transactions that rely on the user being active (store/userLock.ts). Throws `not_found`, also for a closed account. */
async function lockForModeration(tx: Transaction, userId: string): Promise<ModeratedUser> {
  const [user] = await tx.query<ModeratedUser>(sql`
    SELECT ${moderatedUserColumns} FROM users u WHERE u.id = ${userId}::uuid AND u.closed_at IS NULL FOR NO KEY UPDATE`);
  if (!user) throw new ApiError("not_found");
  return user;
}

/** Updates a locked user. `changes` are SQL assignments. */
async function updateUser(tx: Connection, userId: string, changes: ReturnType<typeof sql>): Promise<ModeratedUser> {
  const [user] = await tx.query<ModeratedUser>(sql`
    UPDATE users u SET ${changes} WHERE u.id = ${userId}::uuid RETURNING ${moderatedUserColumns}`);
  if (!user) throw new ApiError("not_found");
  return user;
}

/**
 * Suspends a user: sessions and keys are deleted for good, and from the commit on nothing new of theirs appears. Their open
 * tasks and active bids, of which there may be thousands, are ended after that by the job `windDown`; until then nobody can
 * award those bids. Nothing happens to a user who is suspended already. Throws `forbidden` for oneself and for a moderator,
 * whose role an operator has to take away first.
 */
export async function suspendUser(
  tx: Transaction,
  { clock, securityLog }: ModerationServices,
  { userId, by, reason }: Order,
): Promise<ModeratedUser> {
  const moderatorId = moderatorIdOf(by);
  const user = await lockForModeration(tx, userId);
  if (userId === moderatorId) throw new ApiError("forbidden", { message: "You cannot suspend yourself." });
  if (user.role === "moderator") {
    throw new ApiError("forbidden", {
      message: "A moderator cannot be suspended. An operator can take the role away: npm run moderator -- remove EMAIL",
    });
  }
  if (user.suspendedAt !== null) return user;
  const suspended = await updateUser(
    tx,
    userId,
    sql`suspended_at = ${clock.now().toISOString()}::timestamptz, winding_down = true`,
  );
  await deleteCredentials(tx, userId);
  await recordAction(tx, { action: "suspend_user", moderatorId, userId, reason });
  const { id, displayName } = suspended;
  tx.events.record("account.suspended", { user: { id, displayName } }, [userId]);
  tx.onCommit(() => securityLog.record(by, "user.suspended", { targetUserId: userId }));
  tx.jobs.add("windDown", { userId });
  return suspended;
}

/**
 * Lifts a suspension. The user signs in anew and creates new keys. What was not ended yet stays as it is. Nothing happens to
 * a user who is not suspended.
 */
export async function reinstateUser(
  tx: Transaction,
  { securityLog }: Pick<ModerationServices, "securityLog">,
  { userId, by, reason }: Order,
): Promise<ModeratedUser> {
  const user = await lockForModeration(tx, userId);
  if (user.suspendedAt === null) return user;
  const reinstated = await updateUser(tx, userId, sql`suspended_at = NULL, winding_down = false`);
  await recordAction(tx, { action: "reinstate_user", moderatorId: moderatorIdOf(by), userId, reason });
  tx.onCommit(() => securityLog.record(by, "user.reinstated", { targetUserId: userId }));
  return reinstated;
}

/** Null for an operator at the command line. */
const moderatorIdOf = (by: Actor) => (by === "operator" ? null : (by.principal?.userId ?? null));

/** Deletes a user's sessions and API keys: nothing brings them back. */
export async function deleteCredentials(tx: Transaction, userId: string): Promise<void> {
  await endSessions(tx, userId, null);
  await tx.query(sql`DELETE FROM api_keys WHERE user_id = ${userId}::uuid`);
}
