import type { Services } from "../services.ts";
import { queryOne, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { JobPayload } from "../store/jobPayloads.ts";
import { stateJoins, waits } from "./state.ts";

/** Mails with news to one person in an hour; the rest comes in one mail when the hour is over. */
const MAX_NEWS_PER_HOUR = 6;
const HOUR_MS = 3_600_000;

interface Pending {
  id: string;
  mail: "now" | "held";
  /** It is no longer true, or another mail about the same conversation has not been read. */
  isMoot: boolean;
}

/**
 * Puts what is to be mailed to a person into mails: one each, up to 6 an hour; what is more is held, and comes in one mail when the
 * hour is over. A mail is a row with its id before it is sent, so that a repeat is the same mail.
 */
export async function mailNews(
  { database }: Pick<Services, "database">,
  { userId }: JobPayload<"mailNews">,
): Promise<void> {
  await database.transaction(async (tx) => {
    // Another job may do the same for this person. A statement of its own, so that the next one sees what that has done.
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('news:' || ${userId}, 0))`);
    const { count, firstAt } = await readHour(tx, userId);
    const hourIsOver = new Date(Date.parse(firstAt) + HOUR_MS);
    // Nothing is read that is not mailed now, so that a flood costs its own rows only.
    if (count >= MAX_NEWS_PER_HOUR) return hold(tx, userId, hourIsOver);
    const pending = await readPending(tx, userId);
    const moot = pending.filter(({ isMoot }) => isMoot).map(({ id }) => id);
    await tx.query(sql`UPDATE notifications SET mail = NULL WHERE id = ANY (${moot}::uuid[])`);
    const idsOf = (mail: Pending["mail"]) =>
      pending.filter((one) => !one.isMoot && one.mail === mail).map(({ id }) => id);
    const held = idsOf("held");
    const mails = [...(held.length > 0 ? [held] : []), ...idsOf("now").map((id) => [id])];
    if (mails.length === 0) return;
    const now = mails.slice(0, MAX_NEWS_PER_HOUR - count);
    for (const ids of now) await addNews(tx, userId, ids);
    if (mails.length > now.length) await hold(tx, userId, hourIsOver);
  });
}

/** What is still to be mailed to a person, the oldest first. A conversation is mailed once until it is read. */
function readPending(tx: Transaction, userId: string): Promise<Pending[]> {
  return tx.query<Pending>(sql`
    SELECT n.id, n.mail, u.email_verified_at IS NULL OR n.created_at < u.email_verified_at OR (${waits}) IS FALSE OR (m.id IS NOT NULL AND EXISTS (
        SELECT FROM notifications other JOIN events oe ON oe.id = other.event_id
        JOIN messages om ON om.id = (oe.data #>> '{message,id}')::uuid
        WHERE other.user_id = n.user_id AND other.type = 'message.posted' AND other.created_at < n.created_at
          AND other.mail IS NOT NULL AND om.bid_id = m.bid_id
          AND c.read < CASE c.side WHEN 'buyer' THEN om.to_buyer ELSE om.to_bidder END)) AS "isMoot"
    FROM notifications n JOIN users u ON u.id = n.user_id JOIN events e ON e.id = n.event_id ${stateJoins}
    WHERE n.user_id = ${userId}::uuid AND n.mail IN ('now', 'held') AND n.mail_id IS NULL
    ORDER BY n.created_at`);
}

/** How many mails with news a person got in the last hour, and when it was the first of them; otherwise now. */
function readHour(tx: Transaction, userId: string): Promise<{ count: number; firstAt: string }> {
  return queryOne<{ count: number; firstAt: string }>(
    tx,
    sql`
    SELECT count(*) AS count, coalesce(min(created_at), service_now()) AS "firstAt" FROM notification_mails
    WHERE user_id = ${userId}::uuid AND purpose = 'news' AND created_at > service_now() - interval '1 hour'
      AND (sent OR ended_at IS NULL)`,
  );
}

async function addNews(tx: Transaction, userId: string, ids: readonly string[]): Promise<void> {
  const mail = await queryOne<{ id: string }>(
    tx,
    sql`
    WITH mail AS (
      INSERT INTO notification_mails (user_id, purpose) VALUES (${userId}::uuid, 'news') RETURNING id
    ), taken AS (
      UPDATE notifications SET mail_id = mail.id FROM mail WHERE notifications.id = ANY (${ids}::uuid[])
    )
    SELECT id FROM mail`,
  );
  tx.jobs.add("sendNotificationMail", { mailId: mail.id });
}

/** Keeps what is still to be mailed until the hour is over. */
async function hold(tx: Transaction, userId: string, until: Date): Promise<void> {
  await tx.query(sql`
    UPDATE notifications SET mail = 'held' WHERE user_id = ${userId}::uuid AND mail = 'now' AND mail_id IS NULL`);
  tx.jobs.add("mailNews", { userId }, { runAt: until, key: `held news:${userId}` });
}
