import { randomUUID } from "node:crypto";
import {
  type EventData,
  type EventRecords,
  type EventType,
  isForWebhooks,
  type LogEventType,
  logCatalogue,
} from "../schemas/event.ts";
import {
  excerptOfBid,
  excerptOfCheck,
  excerptOfDispute,
  excerptOfMessage,
  excerptOfQuestion,
  excerptOfTask,
  withShortReason,
} from "../schemas/excerpts.ts";
import { currentTraceParent } from "../tracing.ts";
import { type Connection, queryOne, sql } from "./connection.ts";

/**
 * What is stored about an event. Every delivery, replay and page of the log sends exactly this, whatever happens to the
 * records later. Long texts are shortened: their rows have them, and thousands of events about one task must not each keep
 * a copy.
 */
function dataOf(
  type: LogEventType,
  { task, bid, dispute, question, message, agreement, delivery, ...records }: EventRecords,
): EventData {
  // Removes what is not public, such as internal ids of the row, and throws if a part of the payload is missing.
  return logCatalogue[type].data.parse({
    ...(task && { task: excerptOfTask(task) }),
    ...(bid && { bid: excerptOfBid(bid) }),
    ...(dispute && { dispute: excerptOfDispute(dispute) }),
    ...(message && { message: excerptOfMessage(message) }),
    ...(question && { question: excerptOfQuestion(question) }),
    ...(agreement && { agreement: withShortReason(agreement) }),
    ...(delivery && { delivery: { ...delivery, checks: delivery.checks.map(excerptOfCheck) } }),
    ...withShortReason(records),
  });
}

/** Whom an event concerns: these users, or everyone. */
export type Recipients = readonly string[] | "everyone";

/** Who does something: a user, in a session or with one of their API keys. */
export interface EventActor {
  readonly userId: string;
  /** Null for a session. */
  readonly keyId: string | null;
  /** The user who approved in a session what the key does. */
  readonly approvedBy?: string;
}

/** An event that is about to be recorded. */
export interface NewEvent {
  readonly type: LogEventType;
  readonly taskId: string | null;
  readonly recipients: Recipients;
  /** As JSON. */
  readonly data: string;
}

/** Throws if a part of the payload is missing. Source: docs/contract.md "Events and webhooks". */
export function newEvent(type: LogEventType, records: EventRecords, recipients: Recipients): NewEvent {
  const data = dataOf(type, records);
  return { type, taskId: taskIdOf(data), recipients, data: JSON.stringify(data) };
}

function taskIdOf(data: EventData): string | null {
  if ("task" in data) return data.task.id;
  return "message" in data ? data.message.taskId : null;
}

/**
 * Records events, in this order, in the transaction of the change that they report, so that they happen if and only if it
 * commits: they enter the log of their recipients, and are sent to endpoints that have their type.
 */
export async function recordEvents(
  connection: Connection,
  events: readonly NewEvent[],
  actor: EventActor | null,
): Promise<void> {
  // An array of arrays must be rectangular, so each goes as the text of one.
  const recipients = events.map((event) =>
    event.recipients === "everyone" ? null : `{${[...new Set(event.recipients)].join()}}`,
  );
  await connection.query(sql`
    WITH recorded AS (
      INSERT INTO events (type, task_id, recipients, data, trace_parent, actor_id, actor_key_id, approved_by, act_id,
                          fanned_out_at)
      SELECT type, task_id, recipients::uuid[], data::json, ${currentTraceParent()}, ${actor?.userId ?? null}::uuid,
             ${actor?.keyId ?? null}::uuid, ${actor?.approvedBy ?? null}::uuid, ${randomUUID()}::uuid, CASE WHEN for_webhooks OR EXISTS (
          SELECT FROM webhook_endpoints e
          WHERE e.user_id = ANY (recipients::uuid[]) AND event.type = ANY (e.log_events) AND e.deleted_at IS NULL
        ) THEN NULL ELSE service_now() END
      FROM unnest(${events.map(({ type }) => type)}::text[], ${events.map(({ taskId }) => taskId)}::uuid[],
                  ${recipients}::text[], ${events.map(({ data }) => data)}::text[],
                  ${events.map(({ type }) => isForWebhooks(type))}::boolean[])
        AS event (type, task_id, recipients, data, for_webhooks)
      RETURNING id)
    INSERT INTO event_log_queue (event_id) SELECT id FROM recorded`);
}

/**
 * Records a sample event, which an owner requests to test an endpoint, and returns its id. It concerns nobody, is not in
 * the log, and the fan-out skips it: the caller adds its only delivery.
 */
export async function recordSampleEvent(
  connection: Connection,
  type: EventType,
  records: EventRecords,
): Promise<string> {
  const { id } = await queryOne<{ id: string }>(
    connection,
    sql`
    INSERT INTO events (type, recipients, data, trace_parent, fanned_out_at)
    VALUES (${type}, '{}', ${JSON.stringify(dataOf(type, records))}::json, ${currentTraceParent()}, service_now())
    RETURNING id`,
  );
  return id;
}

/** Returns how many events were recorded since then, by type. */
export function countEventsSince(connection: Connection, since: Date): Promise<{ type: string; count: number }[]> {
  return connection.query(sql`
    SELECT type, count(*) FROM events WHERE created_at >= ${since.toISOString()}::timestamptz GROUP BY type ORDER BY type`);
}
