import type { LedgerEntry } from "../api/client.ts";

/** What happened to somebody's money at once: one entry of the ledger, or two when money moved between their buckets. */
export interface Movement {
  id: string;
  kind: LedgerEntry["kind"];
  createdAt: string;
  taskId: string | null;
  taskTitle: string | null;
  topupId: string | null;
  payoutId: string | null;
  hasReceipt: boolean;
  /** What each bucket gained; negative for what it lost. */
  availableCents: number;
  heldCents: number;
}

/** Joins the entries of a hold or of its return, which follow each other. Both lists are newest first. */
export function movementsOf(entries: readonly LedgerEntry[]): Movement[] {
  const movements: Movement[] = [];
  for (const { bucket, amountCents, ...entry } of entries) {
    const { kind, taskId } = entry;
    const field = bucket === "available" ? "availableCents" : "heldCents";
    const newer = movements.at(-1);
    const isOtherHalf =
      newer?.kind === kind &&
      newer.taskId === taskId &&
      newer[field] === 0 &&
      newer.availableCents + newer.heldCents === -amountCents;
    if (newer && isOtherHalf) newer[field] = amountCents;
    else movements.push({ ...entry, availableCents: 0, heldCents: 0, [field]: amountCents });
  }
  return movements;
}
