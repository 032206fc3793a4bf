import { randomUUID } from "node:crypto";
import type { Clock } from "../gateways/clock.ts";
import type { Mail } from "../gateways/mail.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { Database } from "../store/database.ts";
import type { JobPayload } from "../store/jobPayloads.ts";
import { addJob } from "../store/queue.ts";
import { createToken, linkOf, type TokenPurpose, tokenLifetimeSeconds } from "./accountTokens.ts";

/** Mails to one account in an hour, for each purpose: what strangers can make us send to it. Further ones are skipped. */
const MAX_MAILS_PER_HOUR = 5;

interface Sender {
  database: Database;
  clock: Clock;
  mail: Mail | null;
  settings: { publicUrl: string };
  log: { warn(fields: object, message: string): void };
}

/**
 * Adds the job that sends a mail with a link, if there is an account. Whether there is one is the job's to find out, so that
 * adding it takes the same time for every address.
 */
export function requestMail(connection: Connection, purpose: TokenPurpose, email: string, now: Date): Promise<void> {
  const payload = { mailId: randomUUID(), purpose, email, requestedAt: now.toISOString() };
  return addJob(connection, "sendAccountMail", payload);
}

/**
 * Sends the mail of a job. The token is made here, so that no job contains it. A job that runs again sends a mail only if
 * none was accepted, with the same id and a new token; once a link would have expired, it gives up.
 */
export async function sendAccountMail(services: Sender, payload: JobPayload<"sendAccountMail">): Promise<void> {
  const { database, clock, mail, settings, log } = services;
  const { mailId, purpose, email, requestedAt } = payload;
  const now = clock.now();
  const isLate = now.getTime() - Date.parse(requestedAt) > tokenLifetimeSeconds[purpose] * 1000;
  if (mail === null || isLate) return;
  const userId = await findRecipient(database, payload);
  if (userId === null) return;
  const token = await createToken(database, { id: mailId, userId, purpose, now });
  const link = linkOf(settings.publicUrl, purpose, token);
  if (!(await mail.send({ id: mailId, to: email, ...compose(purpose, link) }))) {
    log.warn({ mailId, userId }, "the mail server refuses the address of an account");
    await database.query(
      sql`UPDATE users SET email_verified_at = NULL WHERE id = ${userId}::uuid AND email = ${email}`,
    );
  }
  await database.query(sql`
    UPDATE account_tokens SET sent_at = ${now.toISOString()}::timestamptz WHERE id = ${mailId}::uuid`);
}

/** Returns the user to send the mail to, or null if there is nobody, nothing to verify, or enough was sent already. */
async function findRecipient(
  database: Connection,
  { mailId, purpose, email }: JobPayload<"sendAccountMail">,
): Promise<string | null> {
  const [user] = await database.query<{ id: string }>(sql`
    SELECT u.id FROM users u
    WHERE u.email = ${email} AND u.suspended_at IS NULL
      AND (${purpose} = 'reset_password' OR u.email_verified_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM account_tokens t WHERE t.id = ${mailId}::uuid AND t.sent_at IS NOT NULL)
      AND (SELECT count(*) FROM account_tokens t
           WHERE t.user_id = u.id AND t.purpose = ${purpose} AND t.id <> ${mailId}::uuid
             AND t.created_at > service_now() - interval '1 hour') < ${MAX_MAILS_PER_HOUR}`);
  return user?.id ?? null;
}

const texts: Record<TokenPurpose, { subject: string; before: string; action: string; after: string }> = {
  reset_password: {
    subject: "Choose a new password for Rebid",
    before: "Somebody, probably you, asked for a new password for the Rebid account with this address.",
    action: "Choose a new password",
    after:
      "The link works once, for an hour. The new password ends all sessions and revokes all API keys: programs need new ones. If it was not you, ignore this mail: your password stays as it is.",
  },
  verify_email: {
    subject: "Confirm your address for Rebid",
    before: "An account on Rebid was created with this address. Please confirm that it is yours.",
    action: "Confirm this address",
    after: "The link works once, for a day. If you did not create the account, ignore this mail.",
  },
};

/** Nothing in a mail was written by a user, so nobody can send a message of their own through us. */
function compose(purpose: TokenPurpose, link: string): { subject: string; text: string; html: string } {
  const { subject, before, action, after } = texts[purpose];
  const href = link.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return {
    subject,
    text: `${before}\n\n${action}:\n${link}\n\n${after}\n`,
    html: `<!doctype html>
<html lang="en"><body style="margin:0;padding:32px 16px;background:#f3f4f1;color:#1d2127;font:16px/1.6 system-ui,sans-serif">
<div style="max-width:480px;margin:0 auto;padding:32px;background:#ffffff;border-radius:12px">
<p style="margin:0 0 24px;font-weight:600;color:#1f6f5c">Rebid</p>
<p style="margin:0 0 24px">${before}</p>
<p style="margin:0 0 24px"><a href="${href}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1f6f5c;color:#ffffff;text-decoration:none;font-weight:600">${action}</a></p>
<p style="margin:0;color:#5c6470;font-size:14px">${after}</p>
</div></body></html>
`,
  };
}
