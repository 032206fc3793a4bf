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

/** The notifications of a mail that are still true and wanted, the oldest first. */
export async function readMailed(connection: Connection, mailId: string): Promise<MailedNotification[]> {
  const rows = await connection.query<NotificationRow>(sql`
    ${selectNotifications} WHERE n.mail_id = ${mailId}::uuid AND n.created_at >= u.email_verified_at ORDER BY n.created_at`);
  return rows
    .filter(({ waits, mailPreference }) => waits !== false && mailPreference !== "off")
    .map((row) => ({ ...row, event: eventOfRow(row) }));
}
