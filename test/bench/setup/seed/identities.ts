/**
 * Ids and times of seeded rows, the same in every database of a bench, so that one request suits all sides. `load.ts`
 * computes them too, and so sends distinct requests without a list of them.
 */

/** A UUID of the form that the service generates; `kind` keeps the tables apart. */
const idOf = (kind: number) => (number: number) =>
  `01940000-0000-7000-8${kind.toString(16).padStart(3, "0")}-${number.toString(16).padStart(12, "0")}`;

export const userIdOf = idOf(1);
export const taskIdOf = idOf(2);
export const keyIdOf = idOf(3);
export const entryIdOf = idOf(4);
export const transferIdOf = idOf(5);

const kinds = { user: 1, task: 2, key: 3, entry: 4, transfer: 5, bid: 6, event: 7, fundTransfer: 8, fundEntry: 9 };

/** The same expression in SQL. */
export const sqlIdOf = (kind: keyof typeof kinds, number: string) => {
  return `('01940000-0000-7000-8${kinds[kind].toString(16).padStart(3, "0")}-' || lpad(to_hex((${number})::bigint), 12, '0'))::uuid`;
};

/** Every row with number n is n seconds older than this. It lies in the past, so that what a bench writes is newer. */
export const NEWEST = "2025-01-01T00:00:00Z";
export const timeOf = (number: number) =>
  new Date(Date.parse(NEWEST) - number * 1000).toISOString().replace("Z", "000Z");
export const sqlTimeOf = (number: string) => `('${NEWEST}'::timestamptz - (${number}) * interval '1 second')`;

/** Three of four tasks are open; the number of the open task at this index, from the newest. */
export const openTaskAt = (index: number) => index + Math.floor(index / 3) + 1;
