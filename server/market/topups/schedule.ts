import type { Settings } from "../../services.ts";

/** The longest interval between two checks, in polling intervals: an hour by default. */
const MAX_INTERVAL_POLLS = 12;
/** After the checkout page's expiry: the processor's clock may be a little behind ours. */
const EXPIRY_MARGIN_MS = 60_000;

type PollSettings = Pick<Settings, "processorPollSeconds">;

/** Returns when a top-up whose page has just been opened is checked for the first time. */
export function firstCheckAt(now: Date, { processorPollSeconds }: PollSettings): string {
  return new Date(now.getTime() + processorPollSeconds * 500).toISOString();
}

/**
 * Returns when the processor is asked about an unsettled top-up next. Each interval is as long as the top-up is old, so
 * they double, from half a polling interval up to twelve: a page that nobody pays is looked up about 30 times in its 24
 * hours. The page's expiry is always followed by a check, which closes the top-up or credits it.
 */
export function nextCheckAt(
  topup: { createdAt: string; expiresAt: string | null },
  now: Date,
  { processorPollSeconds }: PollSettings,
): string {
  const pollMs = processorPollSeconds * 1000;
  const ageMs = now.getTime() - Date.parse(topup.createdAt);
  const next = now.getTime() + Math.min(Math.max(ageMs, pollMs / 2), pollMs * MAX_INTERVAL_POLLS);
  const expired = topup.expiresAt === null ? next : Date.parse(topup.expiresAt) + EXPIRY_MARGIN_MS;
  return new Date(expired > now.getTime() ? Math.min(next, expired) : next).toISOString();
}
