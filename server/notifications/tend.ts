import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { isFree } from "../store/lease.ts";
import { addJobs } from "../store/queue.ts";
import { remind } from "./reminders.ts";
import { sending } from "./sendMail.ts";

/** Later than any job starts. What is older has lost its job. */
const LOST_AFTER = "10 minutes";
const BATCH = 500;

/** Reminds people of deadlines, and adds the jobs again of mails that have lost theirs. */
export async function tendMails(services: Pick<Services, "database" | "clock" | "mail">): Promise<void> {
  await remind(services);
  const { database, mail } = services;
  if (mail === null) return;
  const mails = await database.query<{ id: string }>(sql`
    SELECT id FROM notification_mails
    WHERE ended_at IS NULL AND created_at < service_now() - ${LOST_AFTER}::interval AND ${isFree(sending)}
    ORDER BY created_at LIMIT ${BATCH}`);
  await addJobs(
    database,
    "sendNotificationMail",
    mails.map(({ id }) => ({ payload: { mailId: id }, key: `mail:${id}` })),
  );
  const people = await database.query<{ userId: string }>(sql`
    SELECT DISTINCT user_id AS "userId" FROM notifications
    WHERE mail IN ('now', 'held') AND mail_id IS NULL AND created_at < service_now() - ${LOST_AFTER}::interval
    LIMIT ${BATCH}`);
  await addJobs(
    database,
    "mailNews",
    people.map(({ userId }) => ({ payload: { userId }, key: `news:${userId}` })),
  );
}
