import { ApiError } from "../errors.ts";
import { sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import { lockUser } from "../store/userLock.ts";
import type { Principal } from "./principal.ts";

/**
 * Locks the caller's user like `lockUser`, before something is added that outlives the session, such as a key. Also throws
 * `unauthenticated` if the caller's session or key was ended, as by signing out, since the request was authenticated: whoever had to be locked
 * out by a new password must not stay because a request of theirs was under way. A session cannot end before the transaction.
 */
export async function lockCaller(tx: Transaction, principal: Principal): Promise<void> {
  await lockUser(tx, principal.userId);
  const found = await tx.query(
    principal.kind === "session"
      ? sql`SELECT 1 FROM sessions WHERE id = ${principal.sessionId}::uuid FOR KEY SHARE`
      : sql`SELECT 1 FROM api_keys WHERE id = ${principal.keyId}::uuid AND revoked_at IS NULL`,
  );
  if (found.length === 0) throw new ApiError("unauthenticated");
}
