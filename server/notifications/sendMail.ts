import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { JobPayload } from "../store/jobPayloads.ts";
import { addJob } from "../store/queue.ts";
import { type Content, compose } from "./compose.ts";
import { digestContent } from "./digestContent.ts";
import { type NotificationMail, readMailed } from "./mailed.ts";
import { newsContent } from "./newsContent.ts";
import { reminderContent } from "./reminders.ts";

/** Longer than a mail server may take to respond. */
const LEASE_MS = 60_000;

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
  const mail = await lease(database, mailId);
  if (mail === null) return sendLater(services, mailId);
  try {
    const content = mail.isReachable ? await contentOf(services, mail) : null;
    if (content === null) return await end(database, mailId, false);
    const composed = await compose(services, mail.userId, content);
    const isAccepted = await mails.send({ id: mailId, to: mail.email, ...composed });
    if (!isAccepted) await forgetAddress(services, mail);
    await end(database, mailId, isAccepted);
  } catch (error) {
    await database.query(sql`
      UPDATE notification_mails SET leased_until = '-infinity' WHERE id = ${mailId}::uuid AND ended_at IS NULL`);
    throw error;
  }
}

/** If the mail was not sent: another process sends it, or has died. */
async function sendLater({ database, clock }: Sender, mailId: string): Promise<void> {
  const open = await database.query(sql`
    SELECT FROM notification_mails WHERE id = ${mailId}::uuid AND ended_at IS NULL`);
  const runAt = new Date(clock.now().getTime() + LEASE_MS);
  if (open.length > 0) await addJob(database, "sendNotificationMail", { mailId }, { runAt, key: `mail:${mailId}` });
}

/** A suspended user gets the one mail that says so. */
async function lease(connection: Connection, mailId: string): Promise<NotificationMail | null> {
  const [mail] = await connection.query<NotificationMail>(sql`
    UPDATE notification_mails m SET leased_until = clock_timestamp() + ${LEASE_MS} * interval '1 millisecond'
    FROM users u
    WHERE m.id = ${mailId}::uuid AND m.ended_at IS NULL AND m.leased_until < clock_timestamp() AND u.id = m.user_id
    RETURNING m.id, m.user_id AS "userId", m.purpose, m.task_id AS "taskId", m.due_at AS "dueAt", u.email,
              u.time_zone AS "timeZone",
              u.closed_at IS NULL AND coalesce(u.email_verified_at <= m.created_at, false) AND (u.suspended_at IS NULL OR EXISTS (
                SELECT FROM notifications n WHERE n.mail_id = m.id AND n.type = 'account.suspended')) AS "isReachable"`);
  return mail ?? null;
}

function contentOf(services: Sender, mail: NotificationMail): Promise<Content | null> {
  if (mail.purpose === "reminder") return reminderContent(services, mail);
  return mail.purpose === "digest" ? digestContent(services, mail) : newsOf(services, mail);
}

async function newsOf(services: Sender, mail: NotificationMail): Promise<Content | null> {
  const left = await readMailed(services.database, mail.id);
  return left.named.length === 0 ? null : newsContent(left, services.settings.publicUrl);
}

async function end(connection: Connection, mailId: string, sent: boolean): Promise<void> {
  await connection.query(sql`
    UPDATE notification_mails SET ended_at = service_now(), sent = ${sent} WHERE id = ${mailId}::uuid`);
}

/** The mail server refuses the address for good: nothing more is sent there until it is verified again. */
async function forgetAddress({ database, log }: Sender, { userId, email }: NotificationMail): Promise<void> {
  await database.query(sql`
    UPDATE users SET email_verified_at = NULL WHERE id = ${userId}::uuid AND email = ${email}`);
  log.warn({ userId }, "the mail server refuses the address of an account: it must be verified again");
}
