import { ApiError } from "../../errors.ts";
import { type Agreement, type AgreementKind, type AgreementStatus, agreementKinds } from "../../schemas/agreement.ts";
import type { TaskStatus } from "../../schemas/task.ts";
import type { TaskRecord } from "../tasks/records.ts";
import { actorOf, decideTaskAction, isRoundOver, type Moment, taskAt } from "../tasks/rules.ts";
import type { TaskAction, TaskActor } from "../tasks/stateMachine.ts";

/** Who acts on an agreement: the side that proposed it, the other side, or the clock. */
type AgreementActor = "proposer" | "other" | "clock";

/** The state machine of an agreement, which leaves `pending` once. Source: docs/contract.md "Agreements". */
export const agreementTransitions = {
  accept: { by: "other", to: "accepted" },
  decline: { by: "other", to: "declined" },
  withdraw: { by: "proposer", to: "withdrawn" },
  lapse: { by: "clock", to: "lapsed" },
} as const satisfies Record<string, { by: AgreementActor; to: AgreementStatus }>;
export type AgreementAction = keyof typeof agreementTransitions;

/** What accepting an agreement does to its task; the task's own table says when that is possible. */
export function taskActionOf(kind: AgreementKind, status: TaskStatus): TaskAction {
  if (kind === "extend") return "extend";
  if (kind === "cancel") return "cancelTogether";
  return status === "disputed" ? "settleDispute" : "settle";
}

/** What a user in this role could agree on with the other side of the task now. */
export const possibleKinds = (task: TaskRecord, actor: TaskActor, moment: Moment): AgreementKind[] =>
  agreementKinds.filter((kind) => {
    const action = taskActionOf(kind, taskAt(task, moment).status);
    return decideTaskAction(action, task, actor, moment).refused === null;
  });

/** What an agreement pays, or gives up of what was held for this side: the buyer pays, and the bidder is paid less. */
export function amountOf(
  { kind, bidderCents }: { kind: AgreementKind; bidderCents?: number | null | undefined },
  { priceCents }: { priceCents: number },
  side: Agreement["proposedBy"],
): number {
  if (kind === "extend") return 0;
  const paidCents = bidderCents ?? 0;
  return side === "buyer" ? paidCents : priceCents - paidCents;
}

/** The side of a task that a user is on. Throws `not_found` for strangers. */
export function sideOf(task: TaskRecord, userId: string): Agreement["proposedBy"] {
  const actor = actorOf(task, userId);
  if (actor === "stranger") throw new ApiError("not_found");
  return actor === "buyer" ? "buyer" : "bidder";
}

/** Whether a pending agreement has lapsed by now, whether or not a job has recorded that: by itself, or because the task moved. */
export const hasLapsed = (
  { status, expiresAt }: Pick<Agreement, "status" | "expiresAt">,
  task: TaskRecord,
  moment: Moment,
) => status === "pending" && (moment.now >= new Date(expiresAt) || isRoundOver(task, moment));

/** The agreement as it is at this moment. */
export function agreementAt(agreement: Agreement, task: TaskRecord, moment: Moment): Agreement {
  if (!hasLapsed(agreement, task, moment)) return agreement;
  const ends = [agreement.expiresAt, ...(isRoundOver(task, moment) ? [task.deliveryDueAt] : [])];
  const endedAt = ends.filter((end) => end !== null).toSorted()[0] ?? agreement.expiresAt;
  return { ...agreement, status: "lapsed", endedAt };
}

/** Whether this side may do this to the agreement, if it is still pending. */
export const mayAct = (
  action: AgreementAction,
  { proposedBy }: Pick<Agreement, "proposedBy">,
  side: Agreement["proposedBy"],
) => agreementTransitions[action].by === (side === proposedBy ? "proposer" : "other");

const refusals: Partial<Record<AgreementAction, string>> = {
  accept: "Only the other side may accept what you propose.",
  decline: "Only the other side may decline what you propose; you may withdraw it.",
  withdraw: "Only the side that proposed this may withdraw it; you may decline it.",
};

/** Throws `forbidden` for the wrong side, and `wrong_status` if the agreement has ended. */
export function assertAgreementAction(
  action: AgreementAction,
  agreement: Agreement,
  task: TaskRecord,
  { side, moment }: { side: Agreement["proposedBy"]; moment: Moment },
): void {
  if (!mayAct(action, agreement, side)) throw new ApiError("forbidden", { message: refusals[action] ?? "" });
  const { status } = agreementAt(agreement, task, moment);
  if (status === "pending") return;
  const isDone = status === agreementTransitions[action].to;
  const message = isDone ? `This has been done already: the agreement is ${status}.` : `The agreement is ${status}.`;
  throw new ApiError("wrong_status", { message });
}
