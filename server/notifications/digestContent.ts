import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { Content } from "./compose.ts";
import { money } from "./format.ts";
import { type MailedNotification, type NotificationMail, readMailed } from "./mailed.ts";
import { itemOf, wordsOfMore } from "./newsContent.ts";
import { mailOf } from "./preferences.ts";
import { latestEight } from "./zones.ts";

/** New tasks that a daily mail names. */
const MAX_TASKS = 20;

interface NewTask {
  id: string;
  title: string;
  maxBudgetCents: number;
}

/** What a daily mail says; null if nothing of it is true any more, or wanted. */
export async function digestContent(
  { database, settings }: Pick<Services, "database" | "settings">,
  mail: NotificationMail,
): Promise<Content | null> {
  const { named, more } = await readMailed(database, mail.id);
  const notifications = oncePerConversation(named);
  const tasks = await readNewTasks(database, mail);
  if (notifications.length + tasks.length === 0) return null;
  const shown = tasks.slice(0, MAX_TASKS);
  const count = notifications.length + more;
  const counts = [
    count > 0 && `${count} notification${count === 1 ? "" : "s"}`,
    tasks.length > 0 &&
      `${shown.length}${tasks.length > MAX_TASKS ? " or more" : ""} new task${tasks.length === 1 ? "" : "s"}`,
  ].filter((part) => part !== false);
  const { publicUrl } = settings;
  return {
    subject: `Your day on Rebid: ${counts.join(", ")}`,
    heading: `Your day on Rebid: ${counts.join(", ")}`,
    paragraphs: wordsOfMore(more),
    items: [
      ...notifications.map((one) => itemOf(one, publicUrl)),
      ...shown.map(({ id, title, maxBudgetCents }) => ({
        title,
        text: `A new task with a budget of up to ${money(maxBudgetCents)}.`,
        url: `${publicUrl}/app/tasks/${id}`,
      })),
    ],
    button:
      notifications.length > 0
        ? { label: "Open your inbox", url: `${publicUrl}/app/notifications` }
        : { label: "See all new tasks", url: `${publicUrl}/app/tasks` },
    why: "You get this mail once a day, at 8:00 in your time zone, with what you chose to get daily and what your agents did.",
    stops: ["daily"],
  };
}

/** One message of each conversation, and all else. */
function oncePerConversation(notifications: readonly MailedNotification[]): MailedNotification[] {
  const seen = new Set<string>();
  return notifications.filter(({ event: { data } }) => {
    if (!("message" in data)) return true;
    const isFirst = !seen.has(data.message.bidId);
    seen.add(data.message.bidId);
    return isFirst;
  });
}

/** The smallest id of an event at a time: ids are time-ordered. */
const firstIdAt = (time: Date) => `${time.getTime().toString(16).padStart(12, "0")}-0000-0000-000000000000`;

/** What others posted in the day before, and is still open: read from the log, in which nobody is told of a new task one by one. */
function readNewTasks(connection: Connection, { userId, dueAt, timeZone }: NotificationMail): Promise<NewTask[]> {
  const until = new Date(dueAt ?? 0);
  const from = latestEight(timeZone ?? "UTC", new Date(until.getTime() - 3_600_000));
  return connection.query<NewTask>(sql`
    SELECT t.id, t.title, t.max_budget_cents AS "maxBudgetCents"
    FROM event_log l JOIN events e ON e.id = l.event_id JOIN tasks t ON t.id = e.task_id
    WHERE l.event_id >= ${firstIdAt(from)}::uuid AND l.event_id < ${firstIdAt(until)}::uuid AND l.type = 'task.created'
      AND t.status = 'open' AND t.buyer_id <> ${userId}::uuid
      AND EXISTS (SELECT FROM unnest(ARRAY['marketplace']) AS m (kind)
                  JOIN notification_preferences p ON p.user_id = ${userId}::uuid AND p.kind = m.kind
                  WHERE ${mailOf(sql`m.kind`)} = 'daily')
    ORDER BY l.event_id DESC LIMIT ${MAX_TASKS + 1}`);
}
