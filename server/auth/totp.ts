import { createHash, randomBytes } from "node:crypto";
import { sealData, unsealData } from "iron-session";
import { Secret, TOTP } from "otpauth";

/** RFC 4226 recommends 160 bits. */
const SECRET_BYTES = 20;
const PERIOD_SECONDS = 30;
/** A code of the step before or after the current one is accepted too, for clocks that differ. */
const WINDOW_STEPS = 1;

/** SHA-1, 6 digits and 30 seconds: what every authenticator app understands. */
function totpOf(secret: Secret, email: string): TOTP {
  return new TOTP({ issuer: "Rebid", label: email, secret, algorithm: "SHA1", digits: 6, period: PERIOD_SECONDS });
}

/** Returns a new secret in base32, and the address that authenticator apps read from a QR code. */
export function generateTotp(email: string): { secret: string; otpauthUrl: string } {
  const secret = new Secret({ size: SECRET_BYTES });
  return { secret: secret.base32, otpauthUrl: totpOf(secret, email).toString() };
}

/** Returns the time step that the code belongs to, or null if it is none of the accepted steps'. */
export function stepOfCode(secret: string, code: string, now: Date): number | null {
  const totp = totpOf(Secret.fromBase32(secret), "");
  const timestamp = now.getTime();
  const delta = totp.validate({ token: code, timestamp, window: WINDOW_STEPS });
  return delta === null ? null : TOTP.counter({ period: PERIOD_SECONDS, timestamp }) + delta;
}

/**
 * Encrypts a secret for its row. It is bound to its user, so that a copied row is worth nothing.
 * @param sessionSecrets newest first; the first one encrypts
 */
export function encryptSecret(secret: string, userId: string, [newest = ""]: readonly string[]): Promise<string> {
  return sealData({ totpSecret: secret, userId }, { password: newest, ttl: 0 });
}

/**
 * Decrypts what `encryptSecret` returned, with whichever session secret it was encrypted. Returns null when that secret is no
 * longer among them; `isCurrent` is false when it is not the newest.
 */
export async function decryptSecret(
  encrypted: string,
  userId: string,
  sessionSecrets: readonly string[],
): Promise<{ secret: string; isCurrent: boolean } | null> {
  for (const [index, password] of sessionSecrets.entries()) {
    const content = await unsealData<{ totpSecret?: unknown; userId?: unknown }>(encrypted, { password, ttl: 0 });
    if (typeof content.totpSecret === "string" && content.userId === userId) {
      return { secret: content.totpSecret, isCurrent: index === 0 };
    }
  }
  return null;
}

const RECOVERY_CODES = 10;
/** OWASP ASVS 6.5.2 lets codes of at least 112 bits be stored under a plain hash. */
const RECOVERY_CODE_BYTES = 15;

/** Returns new recovery codes: 24 characters of base32 each, 120 random bits, in groups of four. */
export function generateRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const { base32 } = new Secret({ buffer: new Uint8Array(randomBytes(RECOVERY_CODE_BYTES)).buffer });
    return base32.replace(/(.{4})(?=.)/g, "$1-");
  });
}

/** Returns what is stored of a recovery code. Case, blanks and dashes make no difference. */
export function hashRecoveryCode(code: string): Buffer {
  return createHash("sha256").update(code.replace(/[\s-]/g, "").toUpperCase()).digest();
}
