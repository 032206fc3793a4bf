import type { Services } from "../services.ts";
import { type Connection, type Sql, sql } from "../store/connection.ts";
import type { JobPayload } from "../store/jobPayloads.ts";
import { type Lease, releaseLease, takeLease } from "../store/lease.ts";
import { addJob } from "../store/queue.ts";
import { type Content, compose } from "./compose.ts";
import { digestContent } from "./digestContent.ts";
import { type NotificationMail, readMailed } from "./mailed.ts";
import { newsContent } from "./newsContent.ts";
import { reminderContent } from "./reminders.ts";

/** Longer than a mail server may take to respond. */
const LEASE_SECONDS = 60;
/** One process sends a mail; if it dies, another does. */
export const sending: Lease = { table: sql`notification_mails`, column: sql`leased_until`, seconds: LEASE_SECONDS };

interface LeasedMail extends NotificationMail {
  leasedUntil: string;
}

type Sender = Pick<Services, "database" | "clock" | "mail" | "settings" | "log">;

/**
 * Sends a mail, unless nothing of it is true any more, or its reader does not want it. Any number of processes may run this: a lease
 * lets one of them do it. If it dies, another one does it again, with the same Message-ID.
 */
export async function sendNotificationMail(
  services: Sender,
  { mailId }: JobPayload<"sendNotificationMail">,
): Promise<void> {
  const { database, mail: mails } = services;
  if (mails === null) return;
  const mail = await takeMail(database, mailId);
  if (mail === null) return sendLater(services, mailId);
  const mine = sql`id = ${mailId}::uuid AND ended_at IS NULL AND leased_until = ${mail.leasedUntil}::timestamptz`;
  try {
    const content = mail.isReachable ? await contentOf(services, mail) : null;
    if (content === null) return await end(database, mine, false);
    const composed = await compose(services, mail.userId, content);
    const isAccepted = await mails.send({ id: mailId, to: mail.email, ...composed });
    if (!isAccepted) await forgetAddress(services, mail);
    await end(database, mine, isAccepted);
  } catch (error) {
    await releaseLease(database, sending, mine);
    throw error;
  }
}

/** If the mail was not sent: another process sends it, or has died. */
async function sendLater({ database, clock }: Sender, mailId: string): Promise<void> {
  const open = await database.query(sql`
    SELECT FROM notification_mails WHERE id = ${mailId}::uuid AND ended_at IS NULL`);
  const runAt = new Date(clock.now().getTime() + LEASE_SECONDS * 1_000);
  if (open.length > 0) await addJob(database, "sendNotificationMail", { mailId }, { runAt, key: `mail:${mailId}` });
}

/** A suspended user gets the one mail that says so. */
const isReachable = sql`
  u.closed_at IS NULL AND coalesce(u.email_verified_at <= notification_mails.created_at, false) AND (u.suspended_at IS NULL
    OR EXISTS (SELECT FROM notifications n WHERE n.mail_id = notification_mails.id AND n.type = 'account.suspended'))`;

function takeMail(connection: Connection, mailId: string): Promise<LeasedMail | null> {
  return takeLease<LeasedMail>(connection, sending, {
    before: sql`FROM users u`,
    row: sql`notification_mails.id = ${mailId}::uuid AND ended_at IS NULL AND u.id = user_id`,
    returning: sql`notification_mails.id, user_id AS "userId", purpose, task_id AS "taskId", due_at AS "dueAt", u.email,
                   u.time_zone AS "timeZone", ${isReachable} AS "isReachable", leased_until AS "leasedUntil"`,
  });
}

function contentOf(services: Sender, mail: NotificationMail): Promise<Content | null> {
  if (mail.purpose === "reminder") return reminderContent(services, mail);
  return mail.purpose === "digest" ? digestContent(services, mail) : newsOf(services, mail);
}

async function newsOf(services: Sender, mail: NotificationMail): Promise<Content | null> {
  const left = await readMailed(services.database, mail.id);
  return left.named.length === 0 ? null : newsContent(left, services.settings.publicUrl);
}

async function end(connection: Connection, mine: Sql, sent: boolean): Promise<void> {
  await connection.query(sql`UPDATE notification_mails SET ended_at = service_now(), sent = ${sent} WHERE ${mine}`);
}

/** The mail server refuses the address for good: nothing more is sent there until it is verified again. */
async function forgetAddress({ database, log }: Sender, { userId, email }: NotificationMail): Promise<void> {
  await database.query(sql`
    UPDATE users SET email_verified_at = NULL WHERE id = ${userId}::uuid AND email = ${email}`);
  log.warn({ userId }, "the mail server refuses the address of an account: it must be verified again");
}
