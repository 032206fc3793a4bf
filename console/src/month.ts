const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });

const shortMonth = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });

/** `formatShortMonth("2026-11")` is "Nov". */
export const formatShortMonth = (yearAndMonth: string) => shortMonth.format(new Date(`${yearAndMonth}-01T00:00:00Z`));

/** `monthBefore("2026-11", 2)` is "2026-09". */
export function monthBefore(yearAndMonth: string, count: number): string {
  const at = new Date(`${yearAndMonth}-01T00:00:00Z`);
  at.setUTCMonth(at.getUTCMonth() - count);
  return at.toISOString().slice(0, 7);
}

/** `formatMonth("2026-11")` is "November 2026", wherever the reader is. */
export const formatMonth = (yearAndMonth: string) => month.format(new Date(`${yearAndMonth}-01T00:00:00Z`));
