import { formatCountdown, formatExact, formatRelative } from "./format.ts";
import { useNow } from "./now.ts";

/** A time as its distance from now; the exact one is shown on hover and read out. */
export function Time({ at }: { at: string }) {
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={formatExact(at)}>
      {formatRelative(at, now)}
    </time>
  );
}

interface CountdownProps {
  to: string;
  /** Words before what is left. */
  before?: string;
  /** What is said when nothing is left. */
  over?: string;
}

/** What is left until a deadline, counting down. */
export function Countdown({ to, before = "", over = "the time is over" }: CountdownProps) {
  const now = useNow(1000);
  const left = formatCountdown(to, now);
  return (
    <time dateTime={to} title={formatExact(to)}>
      {left === null ? over : `${before}${left}`}
    </time>
  );
}
