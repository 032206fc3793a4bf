/** The outcome of applying an event of the payment processor. */
export interface EventOutcome {
  /**
   * `applied`: it changed our records. `ignored`: nothing to do, because it is already known or not about our records.
   * `unexpected`: it contradicts our records, and an operator has to look at it.
   */
  kind: "applied" | "ignored" | "unexpected";
  /** A short text for operators. */
  detail: string;
}

export const applied = (detail: string): EventOutcome => ({ kind: "applied", detail });
export const ignored = (detail: string): EventOutcome => ({ kind: "ignored", detail });
export const unexpected = (detail: string): EventOutcome => ({ kind: "unexpected", detail });

/** The event is about something else on the same processor account. */
export const notOurs = ignored("not ours");
