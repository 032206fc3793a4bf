/**
 * What one look at an installation found: something in order, something that works but should be changed (`warning`), or
 * something with which the service, or a part that people need, does not work (`problem`). Neither text contains a secret.
 */
export interface Finding {
  readonly kind: "ok" | "warning" | "problem";
  /** What was looked at, in a word, such as `database`. */
  readonly subject: string;
  readonly text: string;
  /** What to do about it, a sentence or more; null if there is nothing to do. */
  readonly advice: string | null;
}

/** A finding without its subject, which the look that returns it has in common. */
export type Found = Omit<Finding, "subject">;

export const ok = (text: string): Found => ({ kind: "ok", text, advice: null });
export const warning = (text: string, advice: string): Found => ({ kind: "warning", text, advice });
export const problem = (text: string, advice: string): Found => ({ kind: "problem", text, advice });

/** An AggregateError, which Node throws when every address of a host refuses, has no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  if (!(error instanceof Error)) return String(error);
  // `fetch` says only "fetch failed", and why in its cause.
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}
