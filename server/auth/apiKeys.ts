import { createHash, randomBytes } from "node:crypto";

const PREFIX = "rb_live_";
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const RANDOM_CHARACTERS = 22;

/** The literal prefix and 22 characters of the RFC 4648 base32 alphabet: 110 random bits. Source: interface.md. */
export const apiKeyPattern = /^rb_live_[A-Z2-7]{22}$/;

export function generateApiKey(): string {
  const characters = Array.from(randomBytes(RANDOM_CHARACTERS), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PREFIX + characters.join("");
}

/** Only this is stored. A plain hash is enough for a secret of 110 random bits. */
export function hashApiKey(key: string): Buffer<ArrayBuffer> {
  return Buffer.from(createHash("sha256").update(key).digest());
}
