import { deflateRawSync } from "node:zlib";

/**
 * True for a placeholder, and for a text that is mostly repetition, such as one letter 32 times, a short word again and
 * again, or a row of neighbouring letters and digits. Repetition is what compression removes: of the text, or of the
 * distances between its characters, fewer than `minBytes` remain. Random hexadecimal digits lose nothing.
 */
export function isGuessable(secret: string, minBytes: number): boolean {
  if (/change.?me|replace.?me|your.?secret/i.test(secret)) return true;
  const codes = Buffer.from(secret);
  const distances = codes.map((code, index) => code - (codes[index - 1] ?? 0));
  return [codes, distances].some((bytes) => deflateRawSync(bytes, { level: 9 }).length < minBytes);
}
