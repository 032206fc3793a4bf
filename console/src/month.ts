const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });

/** `formatMonth("2026-11")` is "November 2026", wherever the reader is. */
export const formatMonth = (yearAndMonth: string) => month.format(new Date(`${yearAndMonth}-01T00:00:00Z`));
