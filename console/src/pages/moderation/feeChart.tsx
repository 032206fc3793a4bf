import { type PointerEvent, useState } from "react";
import type { Operations } from "../../api/client.ts";
import { formatMonth, formatShortMonth, monthBefore } from "../../month.ts";
import chart from "../../parts/balanceChart.module.css";
import { formatMoney, formatShortMoney } from "../../parts/format.ts";
import { Fact, Facts } from "../../parts/list.tsx";
import { niceCeiling } from "../../parts/niceCeiling.ts";
import styles from "./moderation.module.css";

type Month = NonNullable<Operations["fees"]>["months"][number];

/** Of fewer months, the figures say as much. */
const LEAST_MONTHS = 3;
const MOST_MONTHS = 12;
const HEIGHT = 160;

/** What was earned and withdrawn, a column for each month up to the newest, with the figures below. */
export function FeeChart({ months }: { months: readonly Month[] }) {
  const [newest] = months;
  if (newest === undefined) return null;
  const oldest = months.at(-1) ?? newest;
  const shown: Month[] = [];
  for (let count = 0; count < MOST_MONTHS && monthBefore(newest.month, count) >= oldest.month; count++) {
    const month = monthBefore(newest.month, count);
    shown.unshift(months.find((each) => each.month === month) ?? { month, earnedCents: 0, withdrawnCents: 0 });
  }
  return (
    <>
      {shown.length >= LEAST_MONTHS && <Columns months={shown} />}
      <details className={styles.byMonth} open={shown.length < LEAST_MONTHS}>
        <summary>Figures by month</summary>
        <Facts>
          {months.map((month) => (
            <Fact key={month.month} name={formatMonth(month.month)}>
              {wordsOf(month)}
            </Fact>
          ))}
        </Facts>
      </details>
    </>
  );
}

const wordsOf = ({ earnedCents, withdrawnCents }: Month) =>
  `${formatMoney(earnedCents)} earned${withdrawnCents > 0 ? `, ${formatMoney(withdrawnCents)} withdrawn` : ""}`;

/** Two columns a month. Pointing at a month shows its amounts. */
function Columns({ months }: { months: readonly Month[] }) {
  const [pointed, setPointed] = useState<Month | null>(null);
  const highest = niceCeiling(
    Math.max(100, ...months.map(({ earnedCents, withdrawnCents }) => Math.max(earnedCents, withdrawnCents))),
  );
  const show = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setPointed(months[Math.floor(((event.clientX - left) / width) * months.length)] ?? null);
  };
  const shown = pointed ?? months.at(-1);
  return (
    <figure className={chart.chart}>
      <figcaption>
        <span className={chart.available}>Earned {formatMoney(shown?.earnedCents ?? 0)}</span>
        <span className={chart.held}>Withdrawn {formatMoney(shown?.withdrawnCents ?? 0)}</span>
        <span className={chart.when}>{shown && formatMonth(shown.month)}</span>
      </figcaption>
      <div className={chart.plot}>
        <div className={styles.columns} onPointerMove={show} onPointerLeave={() => setPointed(null)}>
          <Bars months={months} pointed={pointed} highest={highest} />
        </div>
        <div className={chart.scale} aria-hidden="true">
          <span>{formatShortMoney(highest)}</span>
          <span>{formatShortMoney(highest / 2)}</span>
          <span>$0</span>
        </div>
      </div>
      <div className={`${chart.axis} ${styles.axis}`} aria-hidden="true">
        {months.map(({ month }) => (
          <span key={month}>{formatShortMonth(month)}</span>
        ))}
      </div>
    </figure>
  );
}

interface BarsOptions {
  months: readonly Month[];
  /** The other months are drawn fainter. */
  pointed: Month | null;
  /** The amount at the top, in cents. */
  highest: number;
}

function Bars({ months, pointed, highest }: BarsOptions) {
  const heightOf = (cents: number) => (cents / highest) * HEIGHT;
  return (
    <svg
      viewBox={`0 0 ${months.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Fees of ${months.length} months, at most ${formatMoney(highest)} in one. The figures are below.`}
    >
      {[0, 0.5, 1].map((share) => (
        <line key={share} x1="0" x2={months.length} y1={HEIGHT * share} y2={HEIGHT * share} className={chart.grid} />
      ))}
      {months.map(({ month, earnedCents, withdrawnCents }, index) => (
        <g key={month} opacity={pointed !== null && pointed.month !== month ? 0.45 : 1}>
          <rect
            x={index + 0.15}
            y={HEIGHT - heightOf(earnedCents)}
            width="0.35"
            height={heightOf(earnedCents)}
            className={chart.availableArea}
          />
          {withdrawnCents > 0 && (
            <rect
              x={index + 0.5}
              y={HEIGHT - heightOf(withdrawnCents)}
              width="0.35"
              height={heightOf(withdrawnCents)}
              className={chart.heldArea}
            />
          )}
        </g>
      ))}
    </svg>
  );
}
