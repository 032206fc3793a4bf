/** What a key may not do alone. */
export interface Needed {
  /** What it holds, commits or pays. */
  amountCents: number;
  taskId: string | null;
  /** The bid that is awarded or paid. */
  bidId: string | null;
  /** What it is about: asking for something else about it supersedes an earlier question. Null: nothing does. */
  subjectId: string | null;
  /** When the operation is no longer possible; null for never. */
  endsAt: string | null;
}

/** Everything of an operation was tried and undone, because the owner of the key must approve it. */
export class ApprovalNeeded extends Error {
  readonly needed: Needed;
  readonly aboveCents: number;

  constructor(needed: Needed, aboveCents: number) {
    super("the owner of the API key must approve this");
    this.needed = needed;
    this.aboveCents = aboveCents;
  }
}

/** The `Idempotency-Key` of a request belongs to an approval that was pending a moment ago. */
export class KeyIsBound extends Error {
  readonly approvalId: string;

  constructor(approvalId: string) {
    super("the key belongs to an approval");
    this.approvalId = approvalId;
  }
}
