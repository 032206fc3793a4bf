import { randomBytes } from "node:crypto";

const PREFIX = "rb_live_";
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const RANDOM_CHARACTERS = 22;
/** Living keys of a user, connected apps included. Source: docs/contract.md "Limits". */
export const MAX_KEYS = 500;

/** A fixed prefix and 22 characters of the RFC 4648 base32 alphabet: 110 random bits. Source: docs/contract.md "Authentication". */
export const apiKeyPattern = /^rb_live_[A-Z2-7]{22}$/;

/** Returns a new random key; see `apiKeyPattern`. */
export function generateApiKey(): string {
  const characters = Array.from(randomBytes(RANDOM_CHARACTERS), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PREFIX + characters.join("");
}
