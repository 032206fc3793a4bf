import { createHmac, timingSafeEqual } from "node:crypto";

/** `body` is the raw body, before any JSON parser. Throws if the event is not from Rebid, or too old. */
export function verify(body: Buffer, header: string, signingSecret: string): unknown {
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  if (!t || !v1) throw new Error("not a signature");
  if (Math.abs(Date.now() / 1000 - Number(t)) > 300) throw new Error("too old");

  const expected = createHmac("sha256", signingSecret).update(`${t}.`).update(body).digest();
  if (!timingSafeEqual(expected, Buffer.from(v1, "hex"))) throw new Error("wrong signature");
  return JSON.parse(body.toString("utf8"));
}
