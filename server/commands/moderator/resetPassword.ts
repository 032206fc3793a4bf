import { randomUUID } from "node:crypto";
import { createToken, linkOf } from "../../auth/accountTokens.ts";
import type { Services } from "../../services.ts";
import { sql } from "../../store/connection.ts";
import { CommandFailure } from "../runCommand.ts";
import { dim, printable } from "../terminal.ts";

/** Prints a link to choose a new password, to be given to the user: it works without a mail server. */
export async function printResetLink(
  { database, clock, settings, securityLog }: Pick<Services, "database" | "clock" | "settings" | "securityLog">,
  email: string,
): Promise<void> {
  const [user] = await database.query<{ id: string; displayName: string }>(sql`
    SELECT id, display_name AS "displayName" FROM users WHERE email = ${email}`);
  if (!user) throw new CommandFailure(`No user has the email address ${email}.`);
  const token = await createToken(database, {
    id: randomUUID(),
    userId: user.id,
    purpose: "reset_password",
    now: clock.now(),
  });
  securityLog.record("operator", "password.linkPrinted", { targetUserId: user.id });
  console.log(linkOf(settings.publicUrl, "reset_password", token));
  console.log(dim(`For ${printable(user.displayName)} <${email}>. It works once, for an hour.`));
  console.log(dim("The new password ends all sessions and revokes all API keys."));
}
