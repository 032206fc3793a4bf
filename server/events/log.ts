import { ApiError } from "../errors.ts";
import { type LogEvent, type LogEventType, typesOfOneKey } from "../schemas/event.ts";
import { type Connection, empty, NIL_UUID, queryOne, type Sql, sql } from "../store/connection.ts";
import { type CursorField, type Cursors, type LogPosition, notACursor, type SentPosition } from "./cursor.ts";

/** An event with its position in the log. */
export interface LoggedEvent extends LogPosition {
  eventId: string;
  event: LogEvent;
}

/** Whose events to read, and of which types; null for all of them. */
export interface Reader {
  userId: string;
  /** The API key that reads; null for a session. */
  keyId: string | null;
  types: ReadonlySet<LogEventType> | null;
}

/** Whether this reader may see an event that concerns its user. */
export const maySee = ({ keyId }: Reader, { data }: LogEvent): boolean =>
  keyId === null || !("approval" in data) || data.approval.keyId === keyId;

/** As `maySee`, for rows with the type and the id of an event. Such events are rare, so each is looked up. */
export const seenBy = (keyId: string | null, { type, eventId }: { type: Sql; eventId: Sql }): Sql =>
  keyId === null
    ? empty
    : sql`AND (${type} <> ALL (${typesOfOneKey}::text[]) OR EXISTS (
        SELECT FROM events seen WHERE seen.id = ${eventId} AND seen.data #>> '{approval,keyId}' = ${keyId}))`;

/** Maximum number of events that are numbered by one statement. */
const NUMBERED_AT_ONCE = 1_000;

/**
 * Numbers what has been committed, and returns the end of the log. Whoever reads the log or waits for it does so, besides
 * the worker, and waits for another who is numbering at this moment: so a reader sees everything that was committed before.
 * It costs one short query if nothing is new.
 */
export function advanceLog(connection: Connection, { waits = true } = {}): Promise<LogPosition> {
  return queryOne<LogPosition>(
    connection,
    sql`
    SELECT last_position AS position, last_event_id AS "eventId" FROM advance_event_log(${NUMBERED_AT_ONCE}, ${waits})`,
  );
}

/** What `after` means: a cursor's place, the end of the log, or the oldest event that is kept. */
export type After = SentPosition | "latest" | "oldest";

/** Reads `after` as clients send it, or in another field. Throws `invalid_input`, about that field. */
export const afterOf = (cursors: Cursors, text: string | undefined, field?: CursorField): After =>
  text === undefined ? "oldest" : text === "latest" ? "latest" : cursors.decrypt(text, field);

/**
 * Reads a page of what concerns the reader, oldest first. `next` is where it ends: at its last event if there may be more,
 * otherwise at the end of the log. Throws `cursor_expired` for a place that is no longer in the log.
 */
export async function readLog(
  connection: Connection,
  reader: Reader,
  { after, limit }: { after: After; limit: number },
): Promise<{ events: LoggedEvent[]; next: LogPosition; isFull: boolean }> {
  const end = await advanceTo(connection, typeof after === "string" ? 0 : after.position);
  if (after === "latest") return { events: [], next: end, isFull: false };
  if (after !== "oldest") await assertKept(connection, after, end);
  const position = after === "oldest" ? 0 : after.position;
  const events = position === end.position ? [] : await readBetween(connection, reader, position, end, limit);
  const isFull = events.length === limit;
  return { events, next: (isFull ? events.at(-1) : undefined) ?? end, isFull };
}

/** Numbers what has been committed until the log reaches this position: after a failover, more than usual may wait for it. */
async function advanceTo(connection: Connection, position: number): Promise<LogPosition> {
  let end = await advanceLog(connection);
  for (let reached = 0; end.position < position && end.position > reached; ) {
    reached = end.position;
    end = await advanceLog(connection);
  }
  return end;
}

/**
 * Throws `cursor_expired` unless the log goes on behind this place: the event at its position is kept as long as a cursor may
 * refer to it, and must be the one that the place names. Otherwise it has been pruned, or the place is in a tail of the log
 * that was lost, and another event may stand there now. Throws `invalid_input` for a cursor that is not encrypted and not from
 * before cursors were encrypted.
 */
export async function assertKept(connection: Connection, place: SentPosition, end: LogPosition): Promise<void> {
  if (place.plainIn !== undefined) await assertFromBeforeEncryption(connection, place, place.plainIn);
  if (isSame(place, end)) return;
  // Position 0 has no event: what follows it is complete while the first one is kept.
  const at = Math.max(place.position, 1);
  const [kept] = await connection.query<{ eventId: string }>(sql`
    SELECT event_id AS "eventId" FROM event_log WHERE position = ${at}`);
  const isKept = kept !== undefined && (place.position === 0 ? place.eventId === null : kept.eventId === place.eventId);
  if (!isKept) throw new ApiError("cursor_expired");
}

export const isSame = (a: LogPosition, b: LogPosition): boolean => a.position === b.position && a.eventId === b.eventId;

/** Otherwise anybody could find out the position of an event by trying. */
async function assertFromBeforeEncryption(
  connection: Connection,
  { eventId }: LogPosition,
  field: CursorField,
): Promise<void> {
  const known = await connection.query(sql`
    SELECT FROM event_log_state WHERE unsealed_before > ${eventId ?? NIL_UUID}::uuid`);
  if (known.length === 0) throw notACursor(field);
}

/** Merges two ranges: the reader's own events, and everyone's. Each is a scan of an index that ends with the page. */
function readBetween(
  connection: Connection,
  { userId, keyId, types }: Reader,
  after: number,
  end: LogPosition,
  limit: number,
): Promise<LoggedEvent[]> {
  const ofTypes = types === null ? empty : sql`AND type = ANY (${[...types]}::text[])`;
  return readEvents(
    connection,
    sql`
      SELECT * FROM (
        (SELECT position, event_id FROM event_log_entries
         WHERE user_id = ${userId}::uuid AND position > ${after} AND position <= ${end.position} ${ofTypes} ${seenBy(keyId, { type: sql`type`, eventId: sql`event_id` })}
         ORDER BY position LIMIT ${limit})
        UNION ALL
        (SELECT position, event_id FROM event_log
         WHERE recipients IS NULL AND position > ${after} AND position <= ${end.position} ${ofTypes}
         ORDER BY position LIMIT ${limit})
      ) AS merged ORDER BY position LIMIT ${limit}`,
  );
}

/** Reads the events of everyone, for operators. */
export function readWholeLog(
  connection: Connection,
  after: number,
  end: LogPosition,
  limit: number,
): Promise<LoggedEvent[]> {
  return readEvents(
    connection,
    sql`
      SELECT position, event_id FROM event_log WHERE position > ${after} AND position <= ${end.position}
      ORDER BY position LIMIT ${limit}`,
  );
}

interface Row {
  position: number;
  id: string;
  type: LogEventType;
  createdAt: string;
  data: unknown;
}

/** `selected` returns positions and event ids. */
async function readEvents(connection: Connection, selected: Sql): Promise<LoggedEvent[]> {
  const rows = await connection.query<Row>(sql`
    SELECT selected.position, e.id, e.type, e.created_at AS "createdAt", e.data
    FROM (${selected}) AS selected JOIN events e ON e.id = selected.event_id ORDER BY selected.position`);
  return rows.map(loggedEvent);
}

function loggedEvent({ position, id, type, createdAt, data }: Row): LoggedEvent {
  // Parsed with the schema of its type when it was recorded.
  return { position, eventId: id, event: { id, type, createdAt, data } as LogEvent };
}

interface TailRow extends Row {
  recipients: string[] | null;
}

/** An event that was numbered just now, and whom it concerns; null means everyone. */
export interface NewEvent extends LoggedEvent {
  recipients: readonly string[] | null;
}

/**
 * Reads what follows `after` in the log and concerns at least one of these users, up to `limit` events. Returns null if the
 * log no longer has that place.
 */
export async function readTail(
  connection: Connection,
  { userIds, after, end, limit }: { userIds: string[]; after: LogPosition; end: LogPosition; limit: number },
): Promise<NewEvent[] | null> {
  const rows = await connection.query<TailRow>(sql`
    SELECT l.position, l.recipients, e.id, e.type, e.created_at AS "createdAt", e.data
    FROM event_log l JOIN events e ON e.id = l.event_id
    WHERE l.position >= ${after.position} AND l.position <= ${end.position}
      AND (l.position = ${after.position} OR l.recipients IS NULL OR l.recipients && ${userIds}::uuid[])
    ORDER BY l.position LIMIT ${limit + 1}`);
  // The first row is the place itself, unless that is the beginning.
  const own = after.position === 0 ? null : (rows.shift() ?? { position: 0, id: "" });
  if (own !== null && !isSame(after, { position: own.position, eventId: own.id })) return null;
  return rows.slice(0, limit).map((row) => ({ ...loggedEvent(row), recipients: row.recipients }));
}
