/** What a paper says, whatever its size: the thread that draws it knows nothing else. */
export interface Paper {
  size: "A4" | "Letter";
  title: string;
  /** Below the title, such as the operator's name and address. */
  from: string[];
  blocks: Block[];
  /** At the bottom of the last page. */
  note: string;
  /** ISO 8601: when what it says happened. A paper that is made again is the same. */
  at: string;
}

export type Block =
  | { kind: "pairs"; rows: (readonly [label: string, value: string])[] }
  /** The last column is of numbers, and stands at the right. */
  | { kind: "table"; header: string[]; rows: string[][] };
