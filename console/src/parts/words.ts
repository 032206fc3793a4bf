import type { ApiFailure } from "../api/client.ts";
import type { Issue } from "./fieldReader.ts";

/**
 * What refusals mean for a person. The service writes its messages for programs as well: where they name fields, headers or
 * operations of the API, or ids, these are shown instead.
 */
const meanings: Partial<Record<ApiFailure["error"], string>> = {
  invalid_input: "Something in it is not valid.",
  price_above_budget: "This is more than the task's budget.",
  unauthenticated: "Your session has ended. Sign in again.",
  second_factor_required:
    "This code is wrong or was used already. Enter the one that your authenticator shows now, or a recovery code.",
  second_factor_exists: "You have a second factor already. Switch it off before you set up another one.",
  ledger_failed: "The money could not be moved, so nothing has changed. Try again.",
  not_found: "It is not there any more.",
  wrong_status: "This is no longer possible: the task or the bid has changed meanwhile, or its time is over.",
  approval_changed: "It has changed since you looked, so nothing was done. Look at it again.",
  bid_invalid: "This bid can no longer be chosen: it was withdrawn or turned down.",
  account_in_use: "The account cannot be closed yet.",
  idempotency_conflict:
    "This was done already, but its answer was lost on the way. What it created is in the list; a secret cannot be shown again, so delete it there and create another one.",
  onboarding_required: "Enter your bank details first.",
  onboarding_incomplete: "Your bank details are not complete yet.",
  payload_too_large: "This is more text than can be sent at once.",
  rate_limited: "Too many attempts. Wait a moment, and try again.",
  unavailable: "The service is busy. Try again in a moment.",
};

/** A refusal in words, without what can be done about it. */
export function meaningOf({ error, message, issues }: ApiFailure): string {
  if (error === "invalid_input" && issues?.length) return issues.map((issue) => wordsOf(issue)).join(" ");
  return meanings[error] ?? message;
}

/** An issue with its field's label in place of the name that the API has for the field. */
export function wordsOf({ path, message }: Issue, label = labelOf(path)): string {
  const item = /\.(\d+)$/.exec(path)?.[1];
  const subject = item === undefined ? label : `${label}: number ${Number(item) + 1}`;
  return message.replace(/^`[^`]+`/, subject);
}

/** For a field that the page does not have: "fileName" is "The file name". */
const labelOf = (path: string) =>
  `The ${(path.split(".")[0] ?? "").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
