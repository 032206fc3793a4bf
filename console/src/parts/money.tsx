import { formatMoney } from "./format.ts";
import styles from "./money.module.css";

/** An amount of money. `signed` shows the plus of what comes in, and colours it. */
export function Money({ cents, signed = false }: { cents: number; signed?: boolean }) {
  const sign = signed && cents > 0 ? "+" : "";
  return (
    <span className={signed && cents > 0 ? styles.incoming : styles.money}>
      {sign}
      {formatMoney(cents)}
    </span>
  );
}

interface Line {
  label: string;
  cents: number;
}

/** What will happen to somebody's money, line by line, before they press the button. */
export function MoneyPreview({ lines, note }: { lines: readonly Line[]; note?: string }) {
  return (
    <div className={styles.preview}>
      <dl>
        {lines.map(({ label, cents }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <Money cents={cents} />
            </dd>
          </div>
        ))}
      </dl>
      {note !== undefined && <p>{note}</p>}
    </div>
  );
}
