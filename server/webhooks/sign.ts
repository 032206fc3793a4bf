import { createHmac, randomBytes } from "node:crypto";

/** `whsec_` and 32 random bytes in hex. */
export function generateSigningSecret(): string {
  return `whsec_${randomBytes(32).toString("hex")}`;
}

export const SIGNATURE_HEADER = "X-Service-Signature";

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

/** The headers of one attempt. Source: docs/contract.md "Events and webhooks". */
export function deliveryHeaders(body: Buffer, signingSecret: string, now: Date): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "User-Agent": "Rebid-Webhooks/1",
    [SIGNATURE_HEADER]: signatureOf(body, signingSecret, now),
  };
}
