import type { LogEvent, WebhookEvent } from "./generated/types.ts";

/** The body is not an event from Rebid, or is too old. Answer with 400 and do nothing. */
export class WebhookSignatureError extends Error {
  override readonly name = "WebhookSignatureError";
}

/** The raw body, as it arrived: before any JSON parser. */
export type RawBody = string | Uint8Array;

export interface VerifyOptions {
  /** How far the signature's time may be from now, in either direction: by default 300. */
  toleranceSeconds?: number | undefined;
  /** The time that counts as now. */
  now?: Date | undefined;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Returns the event in a webhook's body if its signature is right, and throws a `WebhookSignatureError` otherwise.
 *
 * An endpoint with `logEvents` gets more types: for it, call `verify<LogEvent>(…)`.
 *
 * @param body The raw body. A body that was parsed and printed again has other bytes.
 * @param header The header `X-Service-Signature`, as `Headers` or as Node's `request.headers` has it.
 * @param secret The `signingSecret` of the endpoint, `whsec_…`.
 */
export async function verify<Event extends LogEvent = WebhookEvent>(
  body: RawBody,
  header: string | readonly string[] | null | undefined,
  secret: string,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = new Date() }: VerifyOptions = {},
): Promise<Event> {
  const bytes = bytesOf(body);
  const { time, signatures } = parseHeader(header);
  if (!(Math.abs(now.getTime() / 1000 - time) <= toleranceSeconds)) {
    throw new WebhookSignatureError("The signature's time is too far from now. Is the clock right?");
  }
  const key = await keyOf(secret, "verify");
  const signed = signedBytes(time, bytes);
  let isRight = false;
  // Web Crypto compares in constant time.
  for (const signature of signatures) isRight = (await crypto.subtle.verify("HMAC", key, signature, signed)) || isRight;
  if (!isRight)
    throw new WebhookSignatureError("The signature is wrong: another secret, or not the body that was sent.");
  return JSON.parse(new TextDecoder().decode(bytes)) as Event; // whoever has the secret sends nothing else
}

/** Returns the header `X-Service-Signature` that Rebid would send with this body, for tests of a receiver. */
export async function sign(body: RawBody, secret: string, { now = new Date() }: { now?: Date } = {}): Promise<string> {
  const time = Math.floor(now.getTime() / 1000);
  const signature = await crypto.subtle.sign("HMAC", await keyOf(secret, "sign"), signedBytes(time, bytesOf(body)));
  return `t=${time},v1=${toHex(new Uint8Array(signature))}`;
}

/** One time, and one or more signatures: several while a secret is being replaced. Other parts are for other versions. */
function parseHeader(header: string | readonly string[] | null | undefined): {
  time: number;
  signatures: Uint8Array<ArrayBuffer>[];
} {
  const parts = String(header ?? "")
    .split(",")
    .map((part) => part.split("=", 2));
  const times = parts.filter(([name]) => name?.trim() === "t").map(([, value = ""]) => value.trim());
  const signatures = parts.filter(([name]) => name?.trim() === "v1").map(([, value = ""]) => value.trim());
  const valid = signatures.filter((signature) => /^[0-9a-f]{64}$/.test(signature));
  const [time = ""] = times;
  if (times.length !== 1 || !/^\d{1,12}$/.test(time) || valid.length === 0) {
    throw new WebhookSignatureError("The header X-Service-Signature is missing, or is not `t=…,v1=…`.");
  }
  return { time: Number(time), signatures: valid.map(fromHex) };
}

function bytesOf(body: RawBody): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError("The body must be the raw one, as text or bytes: verify it before any JSON parser reads it.");
}

function signedBytes(time: number, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = new TextEncoder().encode(`${time}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  return signed;
}

function keyOf(secret: string, usage: "sign" | "verify") {
  if (typeof secret !== "string" || secret === "") throw new TypeError("The signing secret is missing.");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, [usage]);
}

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const fromHex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: text.length / 2 }, (_, index) => Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
