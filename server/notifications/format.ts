/** Amounts and times as notifications write them. */
export const money = (cents: number) => `$${(Math.abs(cents) / 100).toFixed(2)}`;
const MAX_QUOTED = 80;

export const hours = (count: number) => `${count} hour${count === 1 ? "" : "s"}`;

/** A title in quotation marks, shortened. */
export function quoted(title: string): string {
  const characters = [...title];
  return `“${characters.length <= MAX_QUOTED ? title : `${characters.slice(0, MAX_QUOTED - 1).join("")}…`}”`;
}

/** A time in the reader's zone, such as `27 Nov 2026, 14:00 UTC`. */
export function timeFor(timestamp: string | null, { timeZone }: { timeZone: string | null }): string {
  if (timestamp === null) return "its deadline";
  return new Intl.DateTimeFormat("en-GB", {
    ...{ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
    ...{ timeZone: timeZone ?? "UTC", timeZoneName: "short" },
  }).format(new Date(timestamp));
}
