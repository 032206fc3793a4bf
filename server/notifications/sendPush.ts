import { EgressRefused } from "../gateways/egressErrors.ts";
import type { Services } from "../services.ts";
import { type Connection, sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";
import type { JobPayload } from "../store/jobPayloads.ts";
import { listPushKeys, type PushKey } from "./pushKeys.ts";
import { stateJoins, waits } from "./state.ts";

/** What a browser shows. `id` is the event's: a browser that gets it twice shows it once. */
export type PushMessage = JobPayload<"sendPush">["message"];

const TIMEOUT_MS = 5_000;
/** A push service may refuse an encrypted message of more than 4,096 bytes; a character has up to 4, and 6 in JSON. */
const MAX_TITLE = 120;
const MAX_TEXT = 300;

interface Subscription {
  id: string;
  userId: string;
  endpoint: string;
  p256dh: string;
  auth: string;
  generation: number;
}

/**
 * Adds a job for each of the user's browsers. Call it in the transaction that notes that the person was told: then each
 * browser has exactly one job. `until` is when the message is of no use any more.
 */
export async function addPushJobs(
  tx: Transaction,
  userId: string,
  message: PushMessage,
  options: { until: Date },
): Promise<void> {
  const subscriptions = await tx.query<{ id: string }>(sql`
    SELECT id FROM push_subscriptions WHERE user_id = ${userId}::uuid ORDER BY id`);
  for (const { id } of subscriptions) {
    const payload = { subscriptionId: id, message, until: options.until.toISOString() };
    tx.jobs.add("sendPush", payload, { key: `push:${message.id}:${id}` });
  }
}

/**
 * Sends a message to one browser. A kill may repeat it, with the same topic, which replaces the earlier one at the push
 * service. Throws when it should be tried again.
 */
export async function sendPush(
  services: Pick<Services, "database" | "clock" | "egress" | "log" | "settings">,
  { subscriptionId, message, until }: JobPayload<"sendPush">,
): Promise<void> {
  const { database, clock } = services;
  const ttlSeconds = Math.floor((new Date(until).getTime() - clock.now().getTime()) / 1_000);
  if (ttlSeconds <= 0) return;
  const [subscription] = await database.query<Subscription>(sql`
    SELECT p.id, p.user_id AS "userId", p.endpoint, p.p256dh, p.auth, p.generation
    FROM push_subscriptions p JOIN sessions s ON s.id = p.session_id
    WHERE p.id = ${subscriptionId}::uuid AND s.expires_at > ${clock.now().toISOString()}::timestamptz`);
  if (!subscription || (await isOutdated(database, subscription.userId, message.id))) return;

  // The key that the browser subscribed with comes first; another one if it was replaced meanwhile.
  const keys = (await listPushKeys(database)).sort(
    (a, b) => Number(b.generation === subscription.generation) - Number(a.generation === subscription.generation),
  );
  for (const key of keys) {
    const status = await post(services, subscription, { key, message, ttlSeconds });
    if (status === 401 || status === 403) continue;
    if (status === 404 || status === 410) break;
    if (status >= 200 && status < 300) return noteKey(database, subscription, key);
    if (status === 429 || status >= 500) throw new Error(`the push service responded with ${status}`);
    services.log.warn({ subscriptionId, status }, "a push service refused a message");
    return;
  }
  await database.query(sql`DELETE FROM push_subscriptions WHERE id = ${subscriptionId}::uuid`);
}

/** Whether what the notification of an event asks for has been done meanwhile. */
async function isOutdated(connection: Connection, userId: string, eventId: string): Promise<boolean> {
  const [notification] = await connection.query<{ waits: boolean | null }>(sql`
    SELECT ${waits} AS waits FROM notifications n JOIN events e ON e.id = n.event_id ${stateJoins}
    WHERE n.user_id = ${userId}::uuid AND n.event_id = ${eventId}::uuid`);
  return notification?.waits === false;
}

/** Sends the request and returns the response's status. An address that must not be called counts as gone. */
async function post(
  { egress, settings }: Pick<Services, "egress" | "settings">,
  { endpoint, p256dh, auth }: Subscription,
  { key, message, ttlSeconds }: { key: PushKey; message: PushMessage; ttlSeconds: number },
): Promise<number> {
  const { generateRequestDetails } = (await import("web-push")).default;
  const short = { ...message, title: cut(message.title, MAX_TITLE), text: cut(message.text, MAX_TEXT) };
  const { headers, body } = generateRequestDetails({ endpoint, keys: { p256dh, auth } }, JSON.stringify(short), {
    TTL: ttlSeconds,
    topic: message.id.replaceAll("-", ""),
    vapidDetails: {
      // A push service's operator finds us by it. It must be https or mailto.
      subject: settings.publicUrl.startsWith("https:") ? settings.publicUrl : "mailto:rebid@localhost",
      publicKey: key.publicKey,
      privateKey: key.privateKey,
    },
  });
  if (body === null) throw new Error("a push message has no body");
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  try {
    return (await egress.post(endpoint, { headers: texts, body, timeoutMs: TIMEOUT_MS })).statusCode;
  } catch (error) {
    if (error instanceof EgressRefused) return 410;
    throw error;
  }
}

/** Shortens a text to so many characters, without cutting one in two. */
function cut(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}

/** Remembers which key the push service accepted, so that the next message has it at once. */
async function noteKey(database: Connection, { id, generation }: Subscription, key: PushKey): Promise<void> {
  if (key.generation === generation) return;
  await database.query(sql`
    UPDATE push_subscriptions SET generation = ${key.generation} WHERE id = ${id}::uuid`);
}
