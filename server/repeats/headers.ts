import { ApiError } from "../errors.ts";

/** Visible ASCII. Source: docs/contract.md "Repeating a request". */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

/** Throws `invalid_input` for an `Idempotency-Key` that is none, and for one in a request with several calls. */
export function assertIdempotencyKey(key: string, calls = 1): void {
  if (calls > 1) {
    throw refusal("Idempotency-Key", "One key cannot stand for several calls. Send each call in a request of its own.");
  }
  if (!idempotencyKeyPattern.test(key)) {
    throw refusal("Idempotency-Key", "A key has 1 to 255 visible ASCII characters.");
  }
}

/** What the header `Dry-Run` of a request asks for; a lone call has `calls` 1. */
interface DryRunRequest {
  /** The header as it was sent. */
  dryRun?: string | undefined;
  calls?: number | undefined;
}

/** Whether the answer is the one of a dry run, of an operation that can keep that promise. */
export function isDryRun({ dryRun, calls = 1 }: DryRunRequest): boolean {
  return dryRun === "true" && calls === 1;
}

/**
 * Throws `invalid_input` for a header that is neither `true` nor `false`, and for a dry run of an operation that cannot
 * undo what it does, or of several calls in one request. Source: docs/contract.md "Trying a request".
 */
export function assertDryRun({ dryRun = "false", calls = 1 }: DryRunRequest, canUndo: boolean): void {
  const refuse = (message: string) => refusal("Dry-Run", message);
  if (dryRun === "false") return;
  if (dryRun !== "true") throw refuse("Send `true`, or `false`, which is the same as leaving it out.");
  if (!canUndo) throw refuse("This operation cannot be tried, because what it does cannot be undone.");
  if (calls > 1) throw refuse("A batch of several calls cannot be tried. Send each call in a request of its own.");
}

function refusal(path: string, message: string): ApiError {
  return new ApiError("invalid_input", { issues: [{ path, message }] });
}
