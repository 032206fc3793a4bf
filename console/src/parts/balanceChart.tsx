import { type PointerEvent, useState } from "react";
import styles from "./balanceChart.module.css";
import { formatDay, formatExact, formatMoney, formatShortMoney } from "./format.ts";
import type { Movement } from "./movements.ts";
import { niceCeiling } from "./niceCeiling.ts";

interface Balance {
  availableCents: number;
  heldCents: number;
}

interface Point extends Balance {
  at: number;
}

/** Fewer movements are read faster in the ledger below. */
const MIN_MOVEMENTS = 4;

const WIDTH = 1000;
const HEIGHT = 240;

/**
 * Returns the balances over time, oldest first: the current ones, and the movements taken back one after the other. Returns
 * none if a line would say nothing: after a few movements, or if all of them happened at this very moment.
 */
export function balancesOver(movements: readonly Movement[], current: Balance, now: number): Point[] {
  const oldest = movements.at(-1);
  if (oldest === undefined || movements.length < MIN_MOVEMENTS || Date.parse(oldest.createdAt) >= now) return [];
  const points: Point[] = [{ at: now, ...current }];
  let { availableCents, heldCents } = current;
  for (const movement of movements) {
    const at = Date.parse(movement.createdAt);
    points.push({ at, availableCents, heldCents });
    availableCents -= movement.availableCents;
    heldCents -= movement.heldCents;
    // What it was before.
    points.push({ at, availableCents, heldCents });
  }
  return points.reverse();
}

/** Available and held money over time, one on top of the other, as far as the ledger has been read. */
export function BalanceChart({ points }: { points: readonly Point[] }) {
  const [pointed, setPointed] = useState<Point | null>(null);
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const span = last.at - first.at;
  const highest = niceCeiling(
    Math.max(...points.map(({ availableCents, heldCents }) => availableCents + heldCents), 100),
  );
  const x = ({ at }: Point) => ((at - first.at) / span) * WIDTH;
  const y = (cents: number) => HEIGHT - (cents / highest) * HEIGHT;
  const area = (value: (point: Point) => number) =>
    `M0 ${HEIGHT}${points.map((point) => `L${x(point).toFixed(1)} ${y(value(point)).toFixed(1)}`).join("")}L${WIDTH} ${HEIGHT}Z`;
  const show = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const at = first.at + ((event.clientX - left) / width) * span;
    setPointed(points.findLast((point) => point.at <= at) ?? first);
  };
  const shown = pointed ?? last;
  return (
    <figure className={styles.chart}>
      <figcaption>
        <span className={styles.available}>Available {formatMoney(shown.availableCents)}</span>
        <span className={styles.held}>Held {formatMoney(shown.heldCents)}</span>
        <span className={styles.when}>{pointed ? formatExact(pointed.at) : "now"}</span>
      </figcaption>
      <div className={styles.plot} onPointerMove={show} onPointerLeave={() => setPointed(null)}>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Balance from ${formatDay(first.at)} to now: ${formatMoney(last.availableCents)} available, ${formatMoney(last.heldCents)} held. The ledger below has every change.`}
        >
          {[0, 0.5, 1].map((share) => (
            <line key={share} x1="0" x2={WIDTH} y1={HEIGHT * share} y2={HEIGHT * share} className={styles.grid} />
          ))}
          <path d={area(({ availableCents, heldCents }) => availableCents + heldCents)} className={styles.heldArea} />
          <path d={area(({ availableCents }) => availableCents)} className={styles.availableArea} />
          {pointed && <line x1={x(pointed)} x2={x(pointed)} y1="0" y2={HEIGHT} className={styles.cursor} />}
        </svg>
        <div className={styles.scale} aria-hidden="true">
          <span>{formatShortMoney(highest)}</span>
          <span>{formatShortMoney(highest / 2)}</span>
          <span>$0</span>
        </div>
      </div>
      <div className={styles.axis} aria-hidden="true">
        <span>{formatDay(first.at)}</span>
        <span>now</span>
      </div>
    </figure>
  );
}
