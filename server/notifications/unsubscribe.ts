import { createHmac, timingSafeEqual } from "node:crypto";
import { ApiError } from "../errors.ts";
import { type NotificationKind, notificationKinds } from "../schemas/notification.ts";
import { type Connection, sql } from "../store/connection.ts";

/** What a link in a mail stops: the mails of a kind, or the daily ones. */
export type Stops = NotificationKind | "daily";
const stops: readonly Stops[] = [...notificationKinds, "daily"];

const YEAR_SECONDS = 366 * 86_400;
/** A user's id, which of `stops`, and when the link ends, in seconds. */
const BYTES = 16 + 1 + 4;
const HMAC_BYTES = 16;

const sign = (payload: Buffer, secret: string) =>
  createHmac("sha256", secret).update("unsubscribe\n").update(payload).digest().subarray(0, HMAC_BYTES);

/** Returns the token of a link that stops mails to a user for a year, whoever has it, and does nothing else. */
export function unsubscribeToken([secret = ""]: readonly string[], userId: string, what: Stops, now: Date): string {
  const payload = Buffer.alloc(BYTES);
  payload.write(userId.replaceAll("-", ""), "hex");
  payload.writeUInt8(stops.indexOf(what), 16);
  payload.writeUInt32BE(Math.floor(now.getTime() / 1_000) + YEAR_SECONDS, 17);
  return Buffer.concat([payload, sign(payload, secret)]).toString("base64url");
}

/** Reads a token. Throws `invalid_token` for one that is not ours, or a year old. */
export function readUnsubscribeToken(
  secrets: readonly string[],
  token: string,
  now: Date,
): { userId: string; what: Stops } {
  const bytes = Buffer.from(token, "base64url");
  const [payload, signature] = [bytes.subarray(0, BYTES), bytes.subarray(BYTES)];
  const isOurs =
    bytes.length === BYTES + HMAC_BYTES && secrets.some((secret) => timingSafeEqual(sign(payload, secret), signature));
  const what = isOurs ? stops[payload.readUInt8(16)] : undefined;
  if (what === undefined || payload.readUInt32BE(17) * 1_000 < now.getTime()) throw new ApiError("invalid_token");
  const hex = payload.toString("hex", 0, 16);
  return { userId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"), what };
}

/** Stops mails. Mails about the account cannot be stopped: they come one by one instead of daily. */
export async function stopMails(connection: Connection, userId: string, what: Stops): Promise<void> {
  await connection.query(sql`
    INSERT INTO notification_preferences AS p (user_id, kind, mail)
    SELECT u.id, kind, CASE kind WHEN 'account' THEN 'now' ELSE 'off' END
    FROM users u, unnest(${notificationKinds}::text[]) AS kind
    WHERE u.id = ${userId}::uuid AND u.closed_at IS NULL AND (kind = ${what} OR (${what} = 'daily' AND EXISTS (
      SELECT FROM notification_preferences d WHERE d.user_id = u.id AND d.kind = kind AND d.mail = 'daily')))
    ON CONFLICT (user_id, kind) DO UPDATE SET mail = excluded.mail`);
}
