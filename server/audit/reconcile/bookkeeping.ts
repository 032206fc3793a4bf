import type { EventOutcome } from "../../market/eventOutcome.ts";
import type { Services } from "../../services.ts";
import type { Transaction } from "../../store/database.ts";

/** Something that the payment processor or the bucket knows and the books do not, or know otherwise. */
export interface Finding {
  /**
   * `missing`: it can be booked, or was. `unknownUser`: the books do not know whose it is, so that it is not booked.
   * `contradiction`: it contradicts the books, and somebody has to look at it. `missingFile`: the bucket lacks a file of the
   * books. `unknownFile`: the books do not know a file of the bucket.
   */
  kind: "missing" | "unknownUser" | "contradiction" | "missingFile" | "unknownFile";
  /** The record, for example `top-up <id>`. */
  subject: string;
  /** What is or was booked, what is wrong, or the file's key. */
  detail: string;
}

/**
 * What may be booked. `progress`: how far payouts that the books have are by now, which every event and every poll of theirs
 * would book as well, and which is then no finding.
 */
export type Extent = "nothing" | "progress" | "everything";

/** Books what is missing, or finds out what would be booked. */
export interface Bookkeeping {
  readonly findings: readonly Finding[];
  note(finding: Finding): void;
  /** Does `work` in a transaction of its own, and notes its outcome. What contradicts the books is undone as a whole. */
  book(subject: string, work: (tx: Transaction) => Promise<EventOutcome>, isProgress?: boolean): Promise<void>;
}

class Contradiction extends Error {
  override readonly name = "Contradiction";
}

/** What may not be booked is done all the same, in a transaction that is undone at its end. */
export function openBookkeeping({ database }: Pick<Services, "database">, extent: Extent): Bookkeeping {
  const findings: Finding[] = [];
  return {
    findings,
    note: (finding) => void findings.push(finding),
    async book(subject, work, isProgress = false) {
      const isBookedAnyway = isProgress && extent === "progress";
      const run = isBookedAnyway || extent === "everything" ? database.transaction : database.rehearse;
      try {
        const { kind, detail } = await run(async (tx) => {
          const outcome = await work(tx);
          if (outcome.kind === "unexpected") throw new Contradiction(outcome.detail);
          return outcome;
        });
        if (kind === "applied" && !isBookedAnyway) findings.push({ kind: "missing", subject, detail });
      } catch (error) {
        if (!(error instanceof Contradiction)) throw error;
        findings.push({ kind: "contradiction", subject, detail: error.message });
      }
    },
  };
}

/** Collects the items of a list into groups of up to `size`. */
export async function* groupsOf<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** The outcome of several facts about one record. */
export function combined(outcomes: readonly EventOutcome[]): EventOutcome {
  const [unexpected] = outcomes.filter(({ kind }) => kind === "unexpected");
  if (unexpected !== undefined) return unexpected;
  const applied = outcomes.filter(({ kind }) => kind === "applied");
  return {
    kind: applied.length > 0 ? "applied" : "ignored",
    detail: applied.map(({ detail }) => detail).join(", ") || "nothing new",
  };
}
