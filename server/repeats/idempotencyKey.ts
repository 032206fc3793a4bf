import { ApiError } from "../errors.ts";

/** Visible ASCII. Source: docs/contract.md "Repeating a request". */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** Throws `invalid_input` for a header that is no key, and for a key in a request with several calls. */
export function assertIdempotencyKey(key: string, calls = 1): void {
  const refuse = (message: string) => new ApiError("invalid_input", { issues: [{ path: "Idempotency-Key", message }] });
  if (calls > 1) throw refuse("One key cannot stand for several calls. Send each call in a request of its own.");
  if (!idempotencyKeyPattern.test(key)) throw refuse("A key has 1 to 255 visible ASCII characters.");
}
