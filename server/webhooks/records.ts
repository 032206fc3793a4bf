import type { Principal } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import { type EventType, typesOfOneKey } from "../schemas/event.ts";
import type { Webhook, WebhookDelivery } from "../schemas/webhook.ts";
import { type Connection, queryOne, type Sql, sql } from "../store/connection.ts";

/** Columns of `webhook_endpoints e`; never includes the signing secret. */
export const webhookColumns = sql`
  e.id, e.url, e.events, e.log_events AS "logEvents", e.switched_off_at IS NULL AS active, e.created_at AS "createdAt"`;

/**
 * A delivery can be replayed any number of times, so only its latest attempts are kept: those of three rounds of retries.
 * With 155 bytes an attempt, a page of 100 deliveries then has at most 400 kB. Source: docs/contract.md "Events and webhooks".
 */
const ATTEMPTS_KEPT = 20;

/** The attempts of a delivery that are kept, of `attempts`, oldest first. */
export const latestAttempts = (attempts: Sql) =>
  sql`jsonb_path_query_array(${attempts}, ${`$[last - ${ATTEMPTS_KEPT - 1} to last]`}::jsonpath)`;

// An earlier release kept 100 attempts, so the rows may have more than are shown.
/** Columns of `webhook_deliveries d`. */
export const deliveryColumns = sql`
  d.id, d.endpoint_id AS "webhookId", d.event_id AS "eventId", d.event_type AS event, d.status,
  ${latestAttempts(sql`d.attempts`)} AS attempts,
  CASE WHEN d.status = 'pending' THEN d.due_at END AS "nextAttemptAt", d.created_at AS "createdAt"`;

/** Throws `not_found` unless the endpoint exists and belongs to the user. */
export async function requireOwnEndpoint(connection: Connection, endpointId: string, userId: string): Promise<void> {
  const [own] = await connection.query(sql`
    SELECT 1 FROM webhook_endpoints
    WHERE id = ${endpointId}::uuid AND user_id = ${userId}::uuid AND deleted_at IS NULL`);
  if (!own) throw new ApiError("not_found");
}

/** Throws `invalid_input` for an endpoint that nothing would ever be sent to. */
export function assertSubscribes({ events, logEvents }: Pick<Webhook, "events" | "logEvents">): void {
  if (events.length + logEvents.length > 0) return;
  const message = "Name at least one type, in `events` or in `logEvents`.";
  throw new ApiError("invalid_input", { issues: [{ path: "events", message }] });
}

/**
 * Throws `forbidden` if a key would receive what other keys ask: an endpoint gets the approvals of all keys of its owner, and a
 * key sees only its own.
 */
export function assertMayReceive({ kind }: Principal, logEvents: Webhook["logEvents"]): void {
  if (kind !== "apiKey" || !logEvents.some((type) => typesOfOneKey.includes(type))) return;
  const message = "Only a session sets up an endpoint for approvals. A key reads its own in the event log.";
  throw new ApiError("forbidden", { message });
}

/** Returns the delivery. Throws `not_found` unless its endpoint exists and belongs to the user. */
export async function findOwnDelivery(
  connection: Connection,
  deliveryId: string,
  userId: string,
): Promise<WebhookDelivery> {
  const [delivery] = await connection.query<WebhookDelivery>(sql`
    SELECT ${deliveryColumns} FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
    WHERE d.id = ${deliveryId}::uuid AND e.user_id = ${userId}::uuid AND e.deleted_at IS NULL`);
  if (!delivery) throw new ApiError("not_found");
  return delivery;
}

/** Adds the delivery of a sample event, which goes to this endpoint only. It is due now and is not retried. */
export function addSampleDelivery(
  connection: Connection,
  { endpointId, eventId, type, now }: { endpointId: string; eventId: string; type: EventType; now: Date },
): Promise<WebhookDelivery> {
  return queryOne<WebhookDelivery>(
    connection,
    sql`
    INSERT INTO webhook_deliveries AS d (endpoint_id, event_id, event_type, attempts_left, due_at, created_at)
    VALUES (${endpointId}::uuid, ${eventId}::uuid, ${type}, 1, ${now.toISOString()}::timestamptz, service_now())
    RETURNING ${deliveryColumns}`,
  );
}
