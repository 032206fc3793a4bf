const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const roundDollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const numbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `formatMoney(1250)` is "$12.50"; a negative amount has a real minus sign. */
export const formatMoney = (cents: number) => dollars.format(cents / 100).replace("-", "−");

/** For axes: "$12" instead of "$12.00", cents only where there are some. */
export const formatShortMoney = (cents: number) =>
  (cents % 100 === 0 ? roundDollars : dollars).format(cents / 100).replace("-", "−");

export const formatNumber = (value: number) => numbers.format(value);
export const formatExact = (at: string | number) => exact.format(new Date(at));
export const formatMinute = (at: string | number) => minute.format(new Date(at));
export const formatTime = (at: string | number) => time.format(new Date(at));
export const formatDay = (at: string | number) => day.format(new Date(at));

/** "3 minutes ago", "in 2 hours"; from 30 days on, the day. */
export function formatRelative(at: string, now: number): string {
  const distance = Date.parse(at) - now;
  const size = Math.abs(distance);
  if (size < 45_000) return "just now";
  if (size < HOUR) return relative.format(Math.round(distance / MINUTE), "minute");
  if (size < DAY) return relative.format(Math.round(distance / HOUR), "hour");
  if (size < 30 * DAY) return relative.format(Math.round(distance / DAY), "day");
  return day.format(new Date(at));
}

/** What is left until a deadline in its two largest units: "1 day 4 h", "12 min 5 s". Null when it has passed. */
export function formatCountdown(at: string, now: number): string | null {
  const left = Date.parse(at) - now;
  if (left <= 0) return null;
  const [days, hours] = [Math.floor(left / DAY), Math.floor((left % DAY) / HOUR)];
  const [minutes, seconds] = [Math.floor((left % HOUR) / MINUTE), Math.floor((left % MINUTE) / 1000)];
  if (days > 0) return `${plural(days, "day")} ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${seconds} s`;
  return `${seconds} s`;
}

/** Hours as people say them: "30 minutes", "24 hours", "3 days". */
export function formatHours(hours: number): string {
  if (hours < 1) return plural(Math.max(1, Math.round(hours * 60)), "minute");
  if (hours < 48 || hours % 24 !== 0) return plural(hours, "hour");
  return plural(hours / 24, "day");
}

export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${numbers.format(bytes / 1000 ** power)} ${units[power]}`;
}

export const plural = (count: number, word: string, words = `${word}s`) =>
  `${numbers.format(count)} ${count === 1 ? word : words}`;

/** "none", "2, none lost", "3, 1 lost". */
export function formatDisputes(side: { disputes: number; disputesLost: number } | null): string {
  if (side === null || side.disputes === 0) return "none";
  return `${numbers.format(side.disputes)}, ${side.disputesLost === 0 ? "none" : numbers.format(side.disputesLost)} lost`;
}

/**
 * Reads an amount of dollars as people write it, such as "12", "12.5" or "1,250.00". Returns integer cents, or null if it
 * is none. Which amounts are allowed is for the service to say.
 */
export function parseMoney(text: string): number | null {
  const match = /^\$?\s*(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,2}))?$/.exec(text.trim());
  if (match === null) return null;
  const [, whole = "", fraction = ""] = match;
  const cents = Number(whole.replaceAll(",", "")) * 100 + Number(fraction.padEnd(2, "0"));
  return Number.isSafeInteger(cents) ? cents : null;
}

/** Cents as the text of a field: "12.50". */
export const moneyText = (cents: number) => (cents / 100).toFixed(2);
