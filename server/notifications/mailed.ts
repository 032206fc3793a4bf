import type { LogEvent } from "../schemas/event.ts";
import { type Connection, sql } from "../store/connection.ts";
import { eventOfRow, type NotificationRow, selectNotifications } from "./records.ts";

/** A mail that is about to be sent. */
export interface NotificationMail {
  id: string;
  userId: string;
  purpose: "news" | "digest" | "reminder";
  taskId: string | null;
  dueAt: string | null;
  email: string;
  timeZone: string | null;
  isReachable: boolean;
}

/** A notification of a mail. */
export interface MailedNotification extends NotificationRow {
  event: LogEvent;
}

/** What a mail is about. */
export interface MailedNotifications {
  /** The oldest of them, in their order. */
  named: MailedNotification[];
  /** How many more there are. */
  more: number;
}

/** Notifications that a mail names. A stranger can cause any number of them. */
const MAX_NAMED = 50;

/** The notifications of a mail that are still true and wanted. */
export async function readMailed(connection: Connection, mailId: string): Promise<MailedNotifications> {
  const rows = await connection.query<NotificationRow & { total: number }>(sql`
    SELECT *, count(*) OVER () AS total FROM (
      ${selectNotifications} WHERE n.mail_id = ${mailId}::uuid AND n.created_at >= u.email_verified_at) AS mailed
    WHERE waits IS NOT FALSE AND "mailPreference" <> 'off' ORDER BY "createdAt" LIMIT ${MAX_NAMED}`);
  const named = rows.map((row) => ({ ...row, event: eventOfRow(row) }));
  return { named, more: (rows[0]?.total ?? 0) - rows.length };
}
