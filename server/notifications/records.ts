import type { Principal } from "../auth/principal.ts";
import { seenBy } from "../events/log.ts";
import type { LogEvent } from "../schemas/event.ts";
import type { MailPreference, Notification, NotificationKind } from "../schemas/notification.ts";
import { type Sql, sql } from "../store/connection.ts";
import { mailOf } from "./preferences.ts";
import { stateJoins, waits } from "./state.ts";
import { wordsOf } from "./words.ts";

/** A notification with its event. */
export interface NotificationRow {
  id: string;
  userId: string;
  kind: NotificationKind;
  keyLabel: string | null;
  timeZone: string | null;
  read: boolean;
  createdAt: string;
  eventId: string;
  eventType: LogEvent["type"];
  eventCreatedAt: string;
  eventData: unknown;
  /** Whether it still waits for its reader; null if it asks for nothing. */
  waits: boolean | null;
  /** How its reader wants to be told of this kind by mail. */
  mailPreference: MailPreference;
}

/** Narrows `notifications n` to what a caller may see: a key is told nothing of what other keys ask. */
export const toldTo = (principal: Principal): Sql =>
  seenBy(principal.kind === "apiKey" ? principal.keyId : null, { type: sql`n.type`, eventId: sql`n.event_id` });

/** The rows that `NotificationRow` is made of. */
export const selectNotifications: Sql = sql`
  SELECT n.id, n.user_id AS "userId", n.kind, n.key_label AS "keyLabel", u.time_zone AS "timeZone", n.read, n.created_at AS "createdAt", e.id AS "eventId",
         e.type AS "eventType", e.created_at AS "eventCreatedAt", e.data AS "eventData", ${waits} AS waits, ${mailOf(sql`n.kind`)} AS "mailPreference"
  FROM notifications n JOIN users u ON u.id = n.user_id JOIN events e ON e.id = n.event_id ${stateJoins}
  LEFT JOIN notification_preferences p ON p.user_id = n.user_id AND p.kind = n.kind`;

export function eventOfRow({ eventId, eventType, eventCreatedAt, eventData }: NotificationRow): LogEvent {
  // Parsed with the schema of its type when it was recorded.
  return { id: eventId, type: eventType, createdAt: eventCreatedAt, data: eventData } as LogEvent;
}

/** A notification as its reader sees it. */
export function notificationOf(row: NotificationRow, publicUrl: string): Notification {
  const { id, read, createdAt } = row;
  const event = eventOfRow(row);
  const { title, text, path } = wordsOf(event, row);
  return {
    ...{ id, type: event.type, title, text, url: `${publicUrl}${path}`, event: event.id },
    ...{ needsAction: row.waits === true, read, createdAt },
  };
}
