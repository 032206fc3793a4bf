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

/** What is left until a deadline, counting down. */
export function Countdown({ to, over = "the time is over" }: { to: string; over?: string }) {
  const now = useNow(1000);
  return (
    <time dateTime={to} title={formatExact(to)}>
      {formatCountdown(to, now) ?? over}
    </time>
  );
}
