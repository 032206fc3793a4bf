import { Fence } from "./untrusted.ts";

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const integer = new Intl.NumberFormat("en-US");

/** Money in cents and in words: `4,000 cents ($40.00)`. */
export const money = (cents: number): string =>
  `${integer.format(cents)} ${Math.abs(cents) === 1 ? "cent" : "cents"} (${dollars.format(cents / 100)})`;

/** `1 bid`, `2 bids`. */
export const count = (number: number, noun: string): string =>
  `${integer.format(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A timestamp of the API, to the minute. */
export const time = (timestamp: string): string => `${timestamp.slice(0, 16).replace("T", " ")} UTC`;

/** The text of one answer. Whatever users wrote goes through `quote`, or through `say` with a label. */
export class AnswerText {
  readonly #fence = new Fence();
  readonly #lines: string[] = [];

  /** Adds a line of our own. */
  say(line: string): this {
    this.#lines.push(line);
    return this;
  }

  /** Adds a text of users on a line of its own, fenced, or nothing if there is none. */
  sayQuoted(label: string, text: string | null | undefined): this {
    if (text) this.#lines.push(`${label}: ${this.quote(text)}`);
    return this;
  }

  /** Returns a text of users, fenced, as a part of a line. */
  quote(text: string): string {
    return this.#fence.quote(text);
  }

  /** Says what to do next. */
  next(line: string): this {
    return this.say(`Next: ${line}`);
  }

  toString(): string {
    return [this.#fence.legend, ...this.#lines].filter((line) => line !== "").join("\n");
  }
}

/**
 * Estimates how many tokens a text has for a model, on the safe side: English has four to five characters a token, and rare
 * scripts and emoji up to two tokens a character.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const character of text) tokens += character < "\u0080" ? 1 / 3 : 2;
  return Math.ceil(tokens);
}
