import { ECDH } from "node:crypto";
import { ApiError } from "../errors.ts";

/** Throws `invalid_input` for a key that is no point of the curve: nothing can be encrypted for it. */
export function assertOnCurve(p256dh: string): void {
  try {
    ECDH.convertKey(p256dh, "prime256v1", "base64url");
  } catch {
    const message = "must be an uncompressed P-256 public key in base64url";
    throw new ApiError("invalid_input", { issues: [{ path: "keys.p256dh", message }] });
  }
}
