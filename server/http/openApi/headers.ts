import type { JsonObject } from "./json.ts";

/** The headers of responses, by their names in the document. */
export const responseHeaders: JsonObject = {
  "X-Request-Id": {
    description: "Quote it to report a problem. The request's own `X-Request-Id` if it had an acceptable one.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: "0c6f2f1e-7a57-4c07-9d0b-2a8a5b1d6a3e",
  },
  "RateLimit-Policy": {
    description:
      "The limit that counts this request, of a batch the one that is closest to being reached: its name, `q` requests in `w` seconds.",
    schema: { type: "string" },
    example: '"reads";q=600;w=60',
  },
  RateLimit: {
    description: "What is left of that limit: `r` requests in the next `t` seconds.",
    schema: { type: "string" },
    example: '"reads";r=599;t=60',
  },
  "Retry-After": {
    description: "Seconds to wait: after them, the same request can succeed.",
    schema: { type: "integer", minimum: 1, maximum: 86_400 },
    example: 60,
  },
  "Idempotent-Replayed": {
    description: "`true` if this is the answer of an earlier request with the same `Idempotency-Key`.",
    schema: { type: "string", enum: ["true"] },
  },
  "Dry-Run": {
    description: "`true` if the request had `Dry-Run: true`, so that nothing has changed. Refusals have it too.",
    schema: { type: "string", enum: ["true"] },
  },
};

/** Returns references to the headers that a response with this status can have. */
export function headersOf(status: number, { isReplayable = false, canBeTried = false } = {}): JsonObject {
  const names = [
    ...["X-Request-Id", "RateLimit-Policy", "RateLimit"],
    ...(status === 429 || status === 503 ? ["Retry-After"] : []),
    ...(isReplayable ? ["Idempotent-Replayed"] : []),
    ...(canBeTried ? ["Dry-Run"] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
