import type { Agreement } from "../../schemas/agreement.ts";
import { inOrder } from "../../store/connection.ts";
import type { Transaction } from "../../store/database.ts";
import { getAgreement } from "../tasks/agreements.ts";
import { lockTaskOfAgreement, type TaskRecord } from "../tasks/records.ts";
import { type Moment, type MomentSource, momentOf } from "../tasks/rules.ts";
import { type AgreementAction, assertAgreementAction, sideOf } from "./rules.ts";

interface Locked {
  task: TaskRecord;
  agreement: Agreement;
  side: Agreement["proposedBy"];
  moment: Moment;
}

/**
 * Locks the task of an agreement, which keeps both as they are until the transaction ends, for a user who wants to do this to
 * the agreement. Throws `not_found` for strangers, `forbidden` for the wrong side, and `wrong_status` if it has ended.
 */
export async function lockAgreement(
  tx: Transaction,
  services: MomentSource & { userId: string },
  id: string,
  action: AgreementAction,
): Promise<Locked> {
  // The agreement is read behind the lock, and so as the last holder of the lock left it.
  const [task, agreement] = await inOrder(
    () => lockTaskOfAgreement(tx, id),
    () => getAgreement(tx, id),
  );
  const [side, moment] = [sideOf(task, services.userId), momentOf(services)];
  assertAgreementAction(action, agreement, task, { side, moment });
  return { task, agreement, side, moment };
}
