import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { currentTraceParent, TRACE_PARENT } from "../tracing.ts";

/** `whsec_` and 32 random bytes in hex. */
export function generateSigningSecret(): string {
  return `whsec_${randomBytes(32).toString("hex")}`;
}

export const SIGNATURE_HEADER = "X-Service-Signature";
/** The payload's `id`, so that a receiver can skip what it knows before it parses a body. */
export const EVENT_ID_HEADER = "X-Event-Id";

/**
 * `t=<unix seconds>,v1=<hex HMAC-SHA256 of "{t}.{body}">`, keyed by the whole secret, prefix included. Each
 * attempt gets a new one, because receivers refuse signatures that are more than five minutes old.
 * Source: docs/contract.md "Events and webhooks".
 */
export function signatureOf(body: Buffer, signingSecret: string, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1000);
  const hmac = createHmac("sha256", signingSecret).update(`${seconds}.`).update(body).digest("hex");
  return `t=${seconds},v1=${hmac}`;
}

/** Receivers refuse what was signed longer ago. */
const TOLERANCE_SECONDS = 300;

/** Whether somebody who has the secret signed a body in this way, within the last five minutes. */
export function isSignedBy(body: Buffer, header: string | undefined, signingSecret: string, now: Date): boolean {
  const [, seconds = "", hex = ""] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? "") ?? [];
  if (hex === "") return false;
  const signedAt = new Date(Number(seconds) * 1_000);
  const isRecent = Math.abs(now.getTime() - signedAt.getTime()) <= TOLERANCE_SECONDS * 1_000;
  const expected = Buffer.from(signatureOf(body, signingSecret, signedAt));
  return (
    isRecent &&
    timingSafeEqual(
      expected,
      Buffer.from(`t=${Number(seconds)},v1=${hex}`.padEnd(expected.length).slice(0, expected.length)),
    )
  );
}

/** The headers of one attempt. Source: docs/contract.md "Events and webhooks". */
export function deliveryHeaders(
  { eventId, body }: { eventId: string; body: Buffer },
  signingSecret: string,
  now: Date,
): Record<string, string> {
  const traceParent = currentTraceParent();
  return {
    "Content-Type": "application/json",
    "User-Agent": "Rebid-Webhooks/1",
    [EVENT_ID_HEADER]: eventId,
    [SIGNATURE_HEADER]: signatureOf(body, signingSecret, now),
    ...(traceParent !== null && { [TRACE_PARENT]: traceParent }),
  };
}
