import type { Check, CheckResult, NewCheck } from "../api/client.ts";
import tones from "../parts/badge.module.css";
import { formatNumber, plural } from "../parts/format.ts";
import lists from "../task/record.module.css";
import styles from "./checks.module.css";
import { CheckWords } from "./checkWords.tsx";
import { wordsOfPattern } from "./words.ts";

interface ChecklistProps {
  results: readonly CheckResult[];
  /** What was agreed, which says what each one wants. */
  checks: readonly (Check | NewCheck)[];
  /** Before a delivery: what waits for the buyer's program, waits for the delivery. */
  isTrial?: boolean;
}

const looks = {
  passed: { sign: "✓", word: "Passed", tone: tones.good },
  failed: { sign: "✕", word: "Failed", tone: tones.bad },
  error: { sign: "!", word: "Could not be judged", tone: tones.warn },
  pending: { sign: "…", word: "Waits", tone: tones.quiet },
};

/** What the checks of a file came to, each with its reason. */
export function Checklist({ results, checks, isTrial = false }: ChecklistProps) {
  const passed = results.filter(({ conclusion }) => conclusion === "passed").length;
  return (
    <div className={styles.rows}>
      <p aria-live="polite">
        <b>
          {passed === results.length
            ? `${results.length === 1 ? "The check has" : `All ${formatNumber(results.length)} checks have`} passed`
            : `${formatNumber(passed)} of ${plural(results.length, "check")} passed`}
        </b>
      </p>
      <ul className={lists.list} aria-label={isTrial ? "What the checks would say" : "What the checks say"}>
        {results.map((result) => (
          <Result
            key={result.name}
            result={result}
            check={checks.find(({ name }) => name === result.name)}
            isTrial={isTrial}
          />
        ))}
      </ul>
    </div>
  );
}

interface ResultProps {
  result: CheckResult;
  check: Check | NewCheck | undefined;
  isTrial: boolean;
}

function Result({ result, check, isTrial }: ResultProps) {
  const { name, conclusion, required, summary, detailsUrl } = result;
  const { sign, word, tone } = looks[conclusion];
  return (
    <li>
      <div className={styles.result}>
        <span className={`${styles.sign} ${tone}`} aria-hidden="true">
          {sign}
        </span>
        <div>
          <p>
            <b dir="auto">{name}</b> <small>{waitsFor(result, isTrial) ?? word}</small>
            {!required && <small> · need not pass</small>}
          </p>
          {summary !== null && <p dir="auto">{inWords(summary, check)}</p>}
          {check && (conclusion === "failed" || conclusion === "error") && check.kind !== "external" && (
            <small>
              Agreed: <CheckWords check={check} />
            </small>
          )}
          {summary === null && conclusion !== "pending" && check?.kind === "external" && check.hidden && (
            <small>The reasons are hidden until the task has ended.</small>
          )}
          {detailsUrl !== undefined && (
            <a href={detailsUrl} target="_blank" rel="noreferrer nofollow">
              The whole report at {hostOf(detailsUrl)}
            </a>
          )}
        </div>
      </div>
    </li>
  );
}

/** For the service, a number of words is an expression. */
const inWords = (summary: string, check: Check | NewCheck | undefined) =>
  check?.kind === "text" && wordsOfPattern(check.matches) && summary.startsWith("The expression ")
    ? "It has another number of words."
    : summary;

function waitsFor({ conclusion, kind }: CheckResult, isTrial: boolean): string | null {
  if (conclusion !== "pending") return null;
  if (kind !== "external") return "Is being judged";
  return isTrial ? "Is judged by the buyer’s program after the delivery" : "Waits for the buyer’s program";
}

/** Where a link of somebody else leads. */
function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : "another site";
}
