import type { Task } from "../api/client.ts";
import { Section } from "../parts/page.tsx";
import lists from "../task/record.module.css";
import { CheckWords } from "./checkWords.tsx";
import { formatWait, isTakenAtItsWord } from "./words.ts";

/** What a delivery will be judged by, for whoever thinks about a bid. */
export function AgreedChecks({ task: { checks, acceptOnChecks } }: { task: Task }) {
  if (checks.length === 0) return null;
  const all = checks.every(({ required }) => required) ? "all" : "all that must pass";
  return (
    <Section
      title="Checked by itself"
      lead="What every delivery is judged by, as soon as it is there. Whoever is chosen can try a file before."
    >
      <ul className={lists.list} aria-label="Checks">
        {checks.map((check) => (
          <li key={check.name}>
            <p>
              <b dir="auto">{check.name}</b>
              {!check.required && <small className={lists.quiet}> need not pass</small>}
            </p>
            <CheckWords check={check} />
            {check.kind === "type" && isTakenAtItsWord(check.types) && (
              <small className={lists.quiet}>Text counts as what its bidder says it is.</small>
            )}
            {check.kind === "external" && check.hidden && (
              <small className={lists.quiet}>Its reasons are hidden until the task has ended.</small>
            )}
          </li>
        ))}
      </ul>
      {acceptOnChecks && (
        <p>
          <b>Pays by itself</b> {formatWait(acceptOnChecks.afterMinutes)} {all} have passed, unless the buyer decides
          before.
        </p>
      )}
    </Section>
  );
}
