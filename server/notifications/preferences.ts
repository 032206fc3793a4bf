import {
  type MailPreference,
  type NotificationKind,
  notificationKinds,
  type Preferences,
} from "../schemas/notification.ts";
import { type Connection, type Sql, sql } from "../store/connection.ts";

/** How people are told by mail unless they say otherwise. */
const defaultMail: Record<NotificationKind, MailPreference> = {
  ...{ deadlines: "now", work: "now", money: "now", messages: "now", account: "now" },
  marketplace: "off",
};

const kindsByDefault = (mail: MailPreference) => notificationKinds.filter((kind) => defaultMail[kind] === mail);

/**
 * How a user is told of a kind by mail, where `p` is the user's row of `notification_preferences` for it, or none.
 * @param kind the kind, as SQL
 */
export const mailOf = (kind: Sql): Sql => sql`
  coalesce(p.mail, CASE WHEN ${kind} = ANY (${kindsByDefault("off")}::text[]) THEN 'off' ELSE 'now' END)`;

/** Whether the user's browsers show a kind, which they do by default if there are any. Of new tasks they show none by default. */
export const pushOf = (kind: Sql, user: Sql): Sql => sql`
  coalesce(p.push, ${kind} <> 'marketplace' AND EXISTS (SELECT FROM push_subscriptions s WHERE s.user_id = ${user}))`;

interface Row {
  kind: NotificationKind;
  mail: MailPreference;
  push: boolean;
}

/** Returns how a user is told, for every kind. */
export async function readPreferences(connection: Connection, userId: string): Promise<Preferences> {
  const rows = await connection.query<Row>(sql`
    SELECT kinds.kind, ${mailOf(sql`kinds.kind`)} AS mail, ${pushOf(sql`kinds.kind`, sql`${userId}::uuid`)} AS push
    FROM unnest(${notificationKinds}::text[]) AS kinds (kind)
    LEFT JOIN notification_preferences p ON p.user_id = ${userId}::uuid AND p.kind = kinds.kind`);
  // One row for each kind.
  return Object.fromEntries(rows.map(({ kind, mail, push }) => [kind, { mail, push }])) as Preferences;
}
