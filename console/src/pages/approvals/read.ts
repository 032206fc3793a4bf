import { api } from "../../api/client.ts";

export type ApprovalPage = Awaited<ReturnType<typeof readApproval>>;

/**
 * Reads an approval with what it is about. The approval is read first: if the task or bid changes after it, its version is an
 * older one, and approving it is refused.
 */
export async function readApproval(id: string, signal: AbortSignal) {
  const { approval } = await api.approvals.read.query({ id }, { signal });
  const { taskId, bidId, keyId, operation, input } = approval;
  const answersAgreement = operation === "agreements.accept" && taskId !== null;
  const [found, bid, proposals, wallet, { keys }, me] = await Promise.all([
    taskId === null ? null : api.tasks.read.query({ id: taskId }, { signal }),
    bidId === null ? null : api.bids.read.query({ id: bidId }, { signal }),
    answersAgreement ? api.agreements.list.query({ id: taskId }, { signal }) : null,
    api.wallet.read.query(undefined, { signal }),
    api.keys.list.query(undefined, { signal }),
    api.auth.me.query(undefined, { signal }),
  ]);
  const task = found?.task ?? null;
  const isBuyer = task !== null && task.buyer?.id === me.user.id;
  const keyLabel = keys.find((key) => key.id === keyId)?.label ?? null;
  const agreement = proposals?.agreements.find((each) => each.id === input.id) ?? null;
  return { approval, task, bid: bid?.bid ?? null, agreement, wallet, keyLabel, isBuyer };
}
