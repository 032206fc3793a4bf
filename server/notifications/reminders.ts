import type { Services } from "../services.ts";
import { queryOne, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { Content } from "./compose.ts";
import { money, quoted, timeFor } from "./format.ts";
import type { NotificationMail } from "./mailed.ts";
import { mailOf, pushOf } from "./preferences.ts";
import { addPushJobs } from "./sendPush.ts";

/** How long before a deadline its reminder comes, and how much time must have been given at least. */
const HOURS_BEFORE = 12;
const MIN_HOURS_GIVEN = 24;
const BATCH = 500;

/** A deadline that is near, and who must act by then. */
interface Due {
  mailId: string;
  userId: string;
  taskId: string;
  title: string;
  dueAt: string;
  timeZone: string | null;
  byMail: boolean;
  byPush: boolean;
}

/** The deadlines of tasks `t`: until when the buyer accepts, and until when the awarded bidder delivers. */
const deadlines = (now: Date) => sql`
  SELECT t.id, t.title, t.status, t.buyer_id AS user_id, coalesce(t.accepts_at, t.acceptance_deadline_at) AS due_at, t.delivered_at AS given_at
  FROM tasks t WHERE t.status = 'delivered' AND coalesce(t.accepts_at, t.acceptance_deadline_at) > ${now.toISOString()}::timestamptz
    AND coalesce(t.accepts_at, t.acceptance_deadline_at) <= ${hoursAfter(now)}::timestamptz
  UNION ALL
  SELECT t.id, t.title, t.status, t.awarded_bidder_id, t.delivery_due_at, coalesce(r.created_at, t.awarded_at)
  FROM tasks t LEFT JOIN change_rounds r ON r.task_id = t.id AND r.round = t.revisions_used AND t.delivered_at IS NOT NULL
  WHERE t.status = 'awarded' AND t.delivery_due_at > ${now.toISOString()}::timestamptz
    AND t.delivery_due_at <= ${hoursAfter(now)}::timestamptz`;

const hoursAfter = (now: Date) => new Date(now.getTime() + HOURS_BEFORE * 3_600_000).toISOString();

/** Reminds everyone of the deadlines that are near, once of each. Any number of processes may do so. */
export async function remind({ database, clock, mail }: Pick<Services, "database" | "clock" | "mail">): Promise<void> {
  let reminded: number;
  do reminded = await database.transaction((tx) => remindSome(tx, clock.now(), mail !== null));
  while (reminded === BATCH);
}

async function remindSome(tx: Transaction, now: Date, hasMail: boolean): Promise<number> {
  const due = await tx.query<Due>(sql`
    WITH added AS (
      INSERT INTO notification_mails (user_id, purpose, task_id, due_at)
      SELECT d.user_id, 'reminder', d.id, d.due_at FROM (${deadlines(now)}) AS d
      WHERE d.due_at - d.given_at >= make_interval(hours => ${MIN_HOURS_GIVEN}) AND NOT EXISTS (
        SELECT FROM notification_mails m
        WHERE m.user_id = d.user_id AND m.purpose = 'reminder' AND m.task_id = d.id AND m.due_at = d.due_at)
      ORDER BY d.due_at LIMIT ${BATCH}
      ON CONFLICT DO NOTHING
      RETURNING id, user_id, task_id, due_at)
    SELECT a.id AS "mailId", a.user_id AS "userId", a.task_id AS "taskId", a.due_at AS "dueAt", t.title,
           u.time_zone AS "timeZone", u.email_verified_at IS NOT NULL AND ${mailOf(sql`'deadlines'`)} = 'now' AS "byMail",
           ${pushOf(sql`'deadlines'`, sql`a.user_id`)} AS "byPush"
    FROM added a JOIN tasks t ON t.id = a.task_id JOIN users u ON u.id = a.user_id
    LEFT JOIN notification_preferences p ON p.user_id = a.user_id AND p.kind = 'deadlines'`);
  for (const one of due) {
    if (hasMail && one.byMail) tx.jobs.add("sendNotificationMail", { mailId: one.mailId });
    else await tx.query(sql`UPDATE notification_mails SET ended_at = service_now() WHERE id = ${one.mailId}::uuid`);
    if (!one.byPush) continue;
    const message = {
      id: one.mailId,
      title: `12 hours left: ${quoted(one.title)}`,
      text: `It ends at ${timeFor(one.dueAt, one)}.`,
      url: `/app/tasks/${one.taskId}`,
    };
    await addPushJobs(tx, one.userId, message, { until: new Date(one.dueAt) });
  }
  return due.length;
}

/** Whether a reminder's deadline is still ahead and nobody has acted upon it. */
export const isStillDue = sql`
  (t.status = 'delivered' AND t.buyer_id = m.user_id AND coalesce(t.accepts_at, t.acceptance_deadline_at) = m.due_at
   OR t.status = 'awarded' AND t.awarded_bidder_id = m.user_id AND t.delivery_due_at = m.due_at)
  AND m.due_at > service_now()`;

/** What a reminder says; null if there is nothing to be reminded of any more. */
export async function reminderContent(
  { database, settings }: Pick<Services, "database" | "settings">,
  { id, timeZone }: NotificationMail,
): Promise<Content | null> {
  const task = await queryOne<{
    id: string;
    title: string;
    status: string;
    dueAt: string;
    priceCents: number;
    isDue: boolean;
  }>(
    database,
    sql`
    SELECT t.id, t.title, t.status, m.due_at AS "dueAt", b.price_cents AS "priceCents",
           (${isStillDue}) AND ${mailOf(sql`'deadlines'`)} <> 'off' AS "isDue"
    FROM notification_mails m JOIN tasks t ON t.id = m.task_id JOIN bids b ON b.id = t.awarded_bid_id
    LEFT JOIN notification_preferences p ON p.user_id = m.user_id AND p.kind = 'deadlines'
    WHERE m.id = ${id}::uuid`,
  );
  if (!task.isDue) return null;
  const [title, until, price] = [quoted(task.title), timeFor(task.dueAt, { timeZone }), money(task.priceCents)];
  const words =
    task.status === "delivered"
      ? {
          heading: `12 hours left: accept or dispute ${title}`,
          subject: `12 hours left: accept or dispute ${title} by ${until}`,
          text: `It was delivered. Accept or dispute it by ${until}. Otherwise it counts as accepted, and you pay ${price}.`,
        }
      : {
          heading: `12 hours left: deliver ${title}`,
          subject: `12 hours left: deliver ${title} by ${until}`,
          text: `It is due by ${until}. When it is accepted, its price of ${price} is yours, less the fee if there is one.`,
        };
  return {
    ...{ subject: words.subject, heading: words.heading, paragraphs: [words.text], items: [] },
    button: { label: "Open the task", url: `${settings.publicUrl}/app/tasks/${task.id}` },
    why: "You get this mail because the task waits for you, and mails about deadlines come at once.",
    stops: ["deadlines"],
  };
}
