import type { Verdict } from "../../schemas/checkResult.ts";

/** What a check says is kept and shown, so it is short. */
const MAX_QUOTED = 100;

export const passed = (summary: string): Verdict => ({ conclusion: "passed", summary });
export const failed = (summary: string): Verdict => ({ conclusion: "failed", summary });
export const faulty = (summary: string): Verdict => ({ conclusion: "error", summary });

/** A text of a file or a check in quotation marks, shortened, on one line, and as something that Postgres stores. */
export function quoted(text: string): string {
  const line = text.toWellFormed().replaceAll(/\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, " ");
  const characters = [...line.slice(0, 2 * MAX_QUOTED)];
  return `“${characters.length <= MAX_QUOTED && line.length <= 2 * MAX_QUOTED ? line : `${characters.slice(0, MAX_QUOTED - 1).join("")}…`}”`;
}

/** Formatted by hand: the same on every machine, whatever its locale. */
export const number = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

interface Bounds {
  min: number | undefined;
  max: number | undefined;
}

/** Why a count is out of its bounds, such as "3 rows, at least 5 are needed."; null if it is not. */
export function outOfBounds(value: number, noun: string, { min, max }: Bounds): string | null {
  const counted = `${number(value)} ${value === 1 ? noun.replace(/s\b/, "") : noun}`;
  if (min !== undefined && value < min) return `${counted}; at least ${number(min)} are needed.`;
  if (max !== undefined && value > max) return `${counted}; at most ${number(max)} are allowed.`;
  return null;
}
