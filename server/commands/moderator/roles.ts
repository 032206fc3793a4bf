import { recordAction } from "../../market/moderation/actions.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { CommandFailure } from "../runCommand.ts";
import { dim, printable } from "../terminal.ts";

/** Sets a user's role and prints what changed. Takes effect at the user's next request. */
export async function setRole(
  { database, securityLog }: Pick<Services, "database" | "securityLog">,
  email: string,
  role: "moderator" | "member",
): Promise<void> {
  const user = await database.transaction(async (tx) => {
    const [changed] = await tx.query<{ id: string; displayName: string; before: string }>(sql`
      UPDATE users u SET role = ${role} FROM (SELECT id, role FROM users WHERE email = ${email} FOR NO KEY UPDATE) old
      WHERE u.id = old.id RETURNING u.id, u.display_name AS "displayName", old.role AS before`);
    if (!changed) throw new CommandFailure(`No user has the email address ${email}. They have to sign up first.`);
    if (changed.before === role) return changed;
    const isAdded = role === "moderator";
    await recordAction(tx, {
      action: isAdded ? "add_moderator" : "remove_moderator",
      moderatorId: null,
      userId: changed.id,
    });
    tx.onCommit(() =>
      securityLog.record("operator", isAdded ? "role.granted" : "role.revoked", { targetUserId: changed.id }),
    );
    return changed;
  });
  const [was, now] =
    role === "moderator"
      ? ["was already a moderator", "is now a moderator"]
      : ["was not a moderator", "is no longer a moderator"];
  console.log(`${printable(user.displayName)} <${email}> ${user.before === role ? was : now}.`);
}

/** Lists all moderators, or says whether the user with this email address is one. */
export async function listModerators({ database }: Pick<Services, "database">, email: string | null): Promise<void> {
  const moderators = await database.query<{ email: string; displayName: string }>(sql`
    SELECT email, display_name AS "displayName" FROM users
    WHERE role = 'moderator' AND (${email}::text IS NULL OR email = ${email}) ORDER BY email`);
  for (const moderator of moderators) console.log(`${moderator.email}  ${dim(printable(moderator.displayName))}`);
  if (moderators.length > 0) return;
  console.log(email === null ? "There are no moderators." : `${email} is not a moderator.`);
}
