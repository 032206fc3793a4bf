/** When the daily mail comes, in its reader's zone. */
const DIGEST_HOUR = 8;
const HOUR_MS = 3_600_000;

/** How far a zone's clock is ahead of UTC at a time. */
function offsetMs(timeZone: string, at: number): number {
  const parts = new Intl.DateTimeFormat("en-CA", {
    ...{ timeZone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
  }).formatToParts(at);
  const partOf = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(
    ...([partOf("year"), partOf("month") - 1, partOf("day"), partOf("hour"), partOf("minute")] as const),
    partOf("second"),
  );
  return local - Math.floor(at / 1_000) * 1_000;
}

/** Returns the latest time, not after `now`, at which it was 8 o'clock in a zone. */
export function latestEight(timeZone: string, now: Date): Date {
  const local = now.getTime() + offsetMs(timeZone, now.getTime());
  const midnight = local - (local % (24 * HOUR_MS));
  for (const dayMs of [0, 24 * HOUR_MS]) {
    const eight = midnight - dayMs + DIGEST_HOUR * HOUR_MS;
    // The clock may have been changed since then: the offset is the one of that morning.
    const at = eight - offsetMs(timeZone, eight - offsetMs(timeZone, now.getTime()));
    if (at <= now.getTime()) return new Date(at);
  }
  throw new Error(`it was never 8 o'clock in ${timeZone}`);
}
