import { ApprovalNeeded, type Needed } from "../../repeats/approvalNeeded.ts";
import type { Transaction } from "../../store/database.ts";
import type { Principal } from "../principal.ts";

/** What an operation that may have to be approved can be refused with, besides its own errors. */
export const approvalErrors = ["approval_required", "approval_declined", "limit_reached"] as const;

/** Who asks, and whether they only want to know. */
interface AskingCall {
  readonly principal: Principal;
  readonly dryRun?: string;
  readonly onApprovalNeeded?: () => void;
}

type Asked = Pick<Needed, "amountCents"> & Partial<Needed>;

/**
 * Called by every operation that holds, commits or pays money, anywhere in its transaction: returns whether the owner of the
 * API key decides about this amount, and not the key alone. Unless they have approved it, the operation goes on to its end, so
 * that it is refused for whatever else there is, and is then undone and asked for. Source: docs/contract.md "Approvals".
 */
export function mustBeApproved(tx: Transaction, call: AskingCall, asked: Asked): boolean {
  const { principal } = call;
  if (principal.kind !== "apiKey") return false;
  const { approvalAboveCents, approvedBy } = principal;
  if (approvedBy !== undefined) return true;
  if (approvalAboveCents === null || asked.amountCents <= approvalAboveCents) return false;
  if (call.dryRun === "true" && call.onApprovalNeeded !== undefined) {
    call.onApprovalNeeded();
    return true;
  }
  const needed = { taskId: null, bidId: null, subjectId: null, endsAt: null, ...asked };
  tx.refuseAtEnd(new ApprovalNeeded(needed, approvalAboveCents));
  return true;
}
