import type { LogEvent } from "../schemas/event.ts";
import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { EventActor } from "../store/outbox.ts";
import { pushOf } from "./preferences.ts";
import { addPushJobs } from "./sendPush.ts";
import { type Told, whoIsTold } from "./told.ts";
import { wordsOf } from "./words.ts";

/** Events that one transaction tells of. */
const BATCH = 200;
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
  /** Whether the recipient's browsers show it. */
  push: boolean;
}

/**
 * Tells of the next events of the log, and returns how many there were. Any number of processes may do so: the one that has the
 * cursor goes on, and the others have nothing to do. The notifications, their jobs and the cursor are one transaction, so that
 * each person is told of an event once.
 */
export function tellNext({ database, clock }: Pick<Services, "database" | "clock">): Promise<number> {
  return database.transaction(async (tx) => {
    // A statement of its own: one that waited for the cursor would read the log from before.
    const [cursor] = await tx.query<{ position: number }>(sql`
      SELECT position FROM notification_cursor FOR UPDATE SKIP LOCKED`);
    if (cursor === undefined) return 0;
    const rows = await readEvents(tx, cursor.position);
    const last = rows.at(-1);
    if (last === undefined) return 0;
    const candidates = rows.flatMap(candidatesOf);
    const added = candidates.length === 0 ? [] : await addNotifications(tx, candidates);
    for (const one of added) await addJobs(tx, one, eventOf(candidates, one), clock.now());
    await tx.query(sql`UPDATE notification_cursor SET position = ${last.position}`);
    return rows.length;
  });
}

function readEvents(tx: Connection, after: number): Promise<Row[]> {
  return tx.query<Row>(sql`
    SELECT l.position, e.id, e.type, e.created_at AS "createdAt", e.data, e.recipients, e.actor_id AS "actorId",
           e.actor_key_id AS "actorKeyId", e.act_id AS "actId", k.label AS "keyLabel"
    FROM event_log l JOIN events e ON e.id = l.event_id LEFT JOIN api_keys k ON k.id = e.actor_key_id
    WHERE l.position > ${after} ORDER BY l.position LIMIT ${BATCH}`);
}

function candidatesOf(row: Row): Candidate[] {
  const { id, type, createdAt, data, actorId, actorKeyId, actId } = row;
  // Parsed with the schema of its type when it was recorded.
  const event = { id, type, createdAt, data } as LogEvent;
  const actor: EventActor | null = actorId === null ? null : { userId: actorId, keyId: actorKeyId };
  return whoIsTold({ event, recipients: row.recipients ?? [], actor }).map((told) => ({
    ...{ ...told, event, actId },
    keyLabel: told.isOwnKey ? (row.keyLabel ?? "a deleted key") : null,
  }));
}

/**
 * Adds those that are not there yet. What one act gives one person is one notification: the first, and one that says less only
 * if there is no other. The times of notifications only grow, so that "up to this one" means the same in each list.
 */
function addNotifications(tx: Connection, candidates: readonly Candidate[]): Promise<Added[]> {
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
      INSERT INTO notifications (user_id, event_id, act_id, type, kind, key_label, created_at)
      SELECT c.user_id, c.event_id, c.act_id, c.type, c.kind, c.key_label, c.created_at
      FROM candidate c JOIN users u ON u.id = c.user_id WHERE u.closed_at IS NULL ORDER BY c.number
      ON CONFLICT DO NOTHING
      RETURNING user_id, event_id, kind, key_label)
    SELECT a.user_id AS "userId", a.event_id AS "eventId", a.key_label AS "keyLabel", u.time_zone AS "timeZone",
           ${pushOf(sql`a.kind`, sql`a.user_id`)} AS push
    FROM added a JOIN users u ON u.id = a.user_id
    LEFT JOIN notification_preferences p ON p.user_id = a.user_id AND p.kind = a.kind`);
}

function eventOf(candidates: readonly Candidate[], { eventId }: Added): LogEvent {
  const found = candidates.find(({ event }) => event.id === eventId);
  if (found === undefined) throw new Error(`nobody is to be told of event ${eventId}`);
  return found.event;
}

/** Adds what tells a person outside of the console. What their own agent did is not urgent: it is in the inbox. */
async function addJobs(tx: Connection, added: Added, event: LogEvent, now: Date): Promise<void> {
  const { userId, keyLabel, push } = added;
  if (keyLabel !== null || !push) return;
  const { title, text, path } = wordsOf(event, added);
  const until = new Date(now.getTime() + PUSH_HOURS * 3_600_000);
  await addPushJobs(tx, userId, { id: event.id, title, text, url: path }, { until });
}
