import type { Agreement } from "../../schemas/agreement.ts";
import type { Transaction } from "../../store/database.ts";
import { endPending } from "../tasks/agreements.ts";
import { getAwardedBid } from "../tasks/moveTask.ts";
import type { TaskRecord } from "../tasks/records.ts";
import type { MomentSource } from "../tasks/rules.ts";
import { lockAgreement } from "./lockAgreement.ts";
import { type AgreementAction, agreementTransitions } from "./rules.ts";

/** Ends an agreement that the task does not follow: it was declined or withdrawn. */
export async function endAgreement(
  tx: Transaction,
  services: MomentSource & { userId: string },
  id: string,
  action: Exclude<AgreementAction, "accept" | "lapse">,
): Promise<{ agreement: Agreement; task: TaskRecord }> {
  const { task, moment } = await lockAgreement(tx, services, id, action);
  const agreement = await endPending(tx, task.id, agreementTransitions[action].to, moment.now);
  if (agreement === null) throw new Error(`agreement ${id} is not pending`);
  const bid = await getAwardedBid(tx, task);
  tx.events.record("agreement.ended", { task, bid, agreement }, [task.buyerId, bid.bidder.id]);
  return { agreement, task };
}
