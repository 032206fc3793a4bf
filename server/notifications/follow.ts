import type { LogEvent } from "../schemas/event.ts";
import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { EventActor } from "../store/outbox.ts";
import { addJobs } from "../store/queue.ts";
import { mailOf, pushOf } from "./preferences.ts";
import { addPushJobs } from "./sendPush.ts";
import { type Told, whoIsTold } from "./told.ts";
import { wordsOf } from "./words.ts";

/** Events, and about how many notifications of them, that one transaction adds. */
const MAX_EVENTS = 200;
const MAX_CANDIDATES = 10_000;
/** A push message is of no use when it comes a day late. */
const PUSH_HOURS = 24;

interface Row {
  position: number;
  id: string;
  type: LogEvent["type"];
  createdAt: string;
  data: unknown;
  recipients: string[] | null;
  actorId: string | null;
  actorKeyId: string | null;
  actId: string | null;
  keyLabel: string | null;
}

/** A notification that is about to be added. */
interface Candidate extends Told {
  event: LogEvent;
  actId: string | null;
  keyLabel: string | null;
}

/** A notification that was added. */
interface Added {
  userId: string;
  eventId: string;
  keyLabel: string | null;
  timeZone: string | null;
  /** Whether it is to be mailed at once, and shown by the recipient's browsers. */
  isMailedNow: boolean;
  push: boolean;
}

/**
 * Tells of the next events of the log, and returns how many there were. Any number of processes may do so: the one that has the
 * cursor goes on, and the others have nothing to do. The notifications, their jobs and the cursor are one transaction, so that
 * each person is told of an event once.
 */
export function tellNext({ database, clock, mail }: Pick<Services, "database" | "clock" | "mail">): Promise<number> {
  return database.transaction(async (tx) => {
    // A statement of its own: one that waited for the cursor would read the log from before.
    const [cursor] = await tx.query<{ position: number }>(sql`
      SELECT position FROM notification_cursor FOR UPDATE SKIP LOCKED`);
    if (cursor === undefined) return 0;
    const { candidates, count, last } = await readCandidates(tx, cursor.position);
    if (last === null) return 0;
    const added = candidates.length === 0 ? [] : await addNotifications(tx, candidates, mail !== null);
    await addMailJobs(tx, added);
    const events = new Map(candidates.map(({ event }) => [event.id, event]));
    for (const one of added) await addPush(tx, one, events.get(one.eventId), clock.now());
    await tx.query(sql`UPDATE notification_cursor SET position = ${last}`);
    return count;
  });
}

/** Returns who is to be told of the next events, how many these are, and the position of the last one; null if there is none. */
async function readCandidates(tx: Connection, after: number) {
  const rows = await tx.query<Row>(sql`
    SELECT l.position, e.id, e.type, e.created_at AS "createdAt", e.data, e.recipients, e.actor_id AS "actorId",
           e.actor_key_id AS "actorKeyId", e.act_id AS "actId", k.label AS "keyLabel"
    FROM event_log l JOIN events e ON e.id = l.event_id LEFT JOIN api_keys k ON k.id = e.actor_key_id
    WHERE l.position > ${after} ORDER BY l.position LIMIT ${MAX_EVENTS}`);
  const followers = rows.some(({ type }) => type === "task.created") ? await readFollowers(tx) : [];
  const candidates: Candidate[] = [];
  let count = 0;
  for (const row of rows) {
    if (candidates.length >= MAX_CANDIDATES) break;
    for (const candidate of candidatesOf(row, followers)) candidates.push(candidate);
    count++;
  }
  return { candidates, count, last: rows[count - 1]?.position ?? null };
}

/** Who is told of each new task. Those who want a daily mail are not: it reads the log. */
async function readFollowers(tx: Connection): Promise<string[]> {
  const rows = await tx.query<{ userId: string }>(sql`
    SELECT user_id AS "userId" FROM notification_preferences WHERE kind = 'marketplace' AND (mail = 'now' OR push)`);
  return rows.map(({ userId }) => userId);
}

function candidatesOf(row: Row, followers: readonly string[]): Candidate[] {
  const { id, type, createdAt, data, actorId, actorKeyId, actId } = row;
  // Parsed with the schema of its type when it was recorded.
  const event = { id, type, createdAt, data } as LogEvent;
  const actor: EventActor | null = actorId === null ? null : { userId: actorId, keyId: actorKeyId };
  return whoIsTold({ event, recipients: row.recipients ?? [], actor, followers }).map((told) => ({
    ...{ ...told, event, actId },
    keyLabel: told.isOwnKey ? (row.keyLabel ?? "a deleted key") : null,
  }));
}

/**
 * Adds those that are not there yet. What one act gives one person is one notification: the first, and one that says less only
 * if there is no other. The times of notifications only grow, so that "up to this one" means the same in each list. What one's
 * own agent did is not urgent, so it is in the daily mail.
 */
function addNotifications(tx: Connection, candidates: readonly Candidate[], hasMail: boolean): Promise<Added[]> {
  // Behind the others of its batch, where each loses against one of the same act.
  const inOrder = candidates.toSorted((a, b) => Number(a.isMinor) - Number(b.isMinor));
  return tx.query<Added>(sql`
    WITH latest AS (SELECT greatest(service_now(), told_at) AS told_at FROM notification_cursor),
    candidate AS (
      SELECT c.*, latest.told_at + number * interval '1 microsecond' AS created_at
      FROM unnest(${inOrder.map(({ userId }) => userId)}::uuid[], ${inOrder.map(({ event }) => event.id)}::uuid[],
                  ${inOrder.map(({ actId }) => actId)}::uuid[], ${inOrder.map(({ event }) => event.type)}::text[],
                  ${inOrder.map(({ kind }) => kind)}::text[], ${inOrder.map(({ keyLabel }) => keyLabel)}::text[])
        WITH ORDINALITY AS c (user_id, event_id, act_id, type, kind, key_label, number), latest
    ), moved AS (
      UPDATE notification_cursor SET told_at = (SELECT max(created_at) FROM candidate)
    ), added AS (
      INSERT INTO notifications (user_id, event_id, act_id, type, kind, key_label, created_at, mail)
      SELECT c.user_id, c.event_id, c.act_id, c.type, c.kind, c.key_label, c.created_at,
             CASE WHEN NOT ${hasMail} OR u.email_verified_at IS NULL OR ${mailOf(sql`c.kind`)} = 'off' THEN NULL
                  WHEN c.key_label IS NOT NULL THEN 'daily' ELSE ${mailOf(sql`c.kind`)} END
      FROM candidate c JOIN users u ON u.id = c.user_id
      LEFT JOIN notification_preferences p ON p.user_id = c.user_id AND p.kind = c.kind
      WHERE u.closed_at IS NULL ORDER BY c.number
      ON CONFLICT DO NOTHING
      RETURNING user_id, event_id, kind, key_label, mail)
    SELECT a.user_id AS "userId", a.event_id AS "eventId", a.key_label AS "keyLabel", u.time_zone AS "timeZone",
           coalesce(a.mail = 'now', false) AS "isMailedNow",
           a.key_label IS NULL AND ${pushOf(sql`a.kind`, sql`a.user_id`)} AS push
    FROM added a JOIN users u ON u.id = a.user_id
    LEFT JOIN notification_preferences p ON p.user_id = a.user_id AND p.kind = a.kind`);
}

/** One job puts all that is new for a person into mails. */
async function addMailJobs(tx: Connection, added: readonly Added[]): Promise<void> {
  const people = new Set(added.filter(({ isMailedNow }) => isMailedNow).map(({ userId }) => userId));
  await addJobs(
    tx,
    "mailNews",
    [...people].map((userId) => ({ payload: { userId }, key: `news:${userId}` })),
  );
}

async function addPush(tx: Transaction, added: Added, event: LogEvent | undefined, now: Date): Promise<void> {
  if (!added.push || event === undefined) return;
  const { title, text, path } = wordsOf(event, added);
  const until = new Date(now.getTime() + PUSH_HOURS * 3_600_000);
  await addPushJobs(tx, added.userId, { id: event.id, title, text, url: path }, { until });
}
