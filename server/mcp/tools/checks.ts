import { z } from "zod";
import { MAX_CHECKS, optionalChecks } from "../../schemas/check.ts";
import type { CheckResult } from "../../schemas/checkResult.ts";
import type { Task } from "../../schemas/task.ts";
import { type AnswerText, count, time } from "../text.ts";

/** Checks as they are sent. Their parser is the API's, but its schema is as long as those of six tools. */
const checksWith = (description: string) =>
  z.array(z.looseObject({})).max(MAX_CHECKS).meta({ description }).pipe(optionalChecks.checks.unwrap()).optional();
const acceptOnChecks = z
  .strictObject({ afterMinutes: z.int() })
  .meta({ description: "Accepts and pays so long after the required checks passed." });

/** How a buyer's agent says what is checked: every field in one line. */
export const checksInput = {
  checks: checksWith(
    "How a delivery is judged: each {name, required, kind} with, by kind, type {types}, size {minBytes, maxBytes}, text " +
      "{minCharacters, maxCharacters, contains, matches}, json_schema {schema}, csv {columns, minRows, maxRows}, image " +
      "{minWidth, maxWidth, minHeight, maxHeight}, archive {paths}, sha256 {sha256}, external {keyId, hidden}.",
  ),
  acceptOnChecks: acceptOnChecks.optional(),
} as const;

export const changedChecksInput = {
  checks: checksWith("As in post_task."),
  acceptOnChecks: acceptOnChecks.nullable().meta({ description: "" }).optional(),
} as const;

/** How much of a check's bounds is repeated in words: a schema may have 64 kB. */
const MAX_SHOWN_CHARACTERS = 400;

/** What is agreed about the checks of a delivery. */
export function sayAgreedChecks(text: AnswerText, { checks, acceptOnChecks, acceptsAt }: Task): void {
  for (const { name, kind, required, ...bounds } of checks) {
    const all = JSON.stringify(bounds);
    const shown =
      all.length > MAX_SHOWN_CHARACTERS ? `${[...all].slice(0, MAX_SHOWN_CHARACTERS).join("")}… see task.checks` : all;
    text.say(`Check ${text.quote(name)}: ${kind}${required ? ", required" : ""}, ${text.quote(shown)}`);
  }
  if (acceptOnChecks) text.say(wordsOfAcceptance(acceptOnChecks));
  if (acceptsAt) text.say(`The checks accept the delivery at ${time(acceptsAt)}, unless the buyer acts before.`);
}

/** When checks accept a delivery. */
export const wordsOfAcceptance = ({ afterMinutes }: { afterMinutes: number }): string =>
  `A delivery is accepted and paid ${count(afterMinutes, "minute")} after all required checks have passed, unless the buyer acts before.`;

/** What the checks of a delivery came to, with their reasons, which may quote the file. */
export function sayVerdicts(text: AnswerText, checks: readonly CheckResult[]): void {
  for (const { name, kind, required, conclusion, summary, detailsUrl } of checks) {
    text.say(`Check ${text.quote(name)}: ${conclusion}, ${kind}${required ? ", required" : ""}.`);
    text.sayQuoted("  Reason", summary).sayQuoted("  Report", detailsUrl);
  }
}
