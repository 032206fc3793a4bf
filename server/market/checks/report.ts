import type { z } from "zod";
import { supersede } from "../../auth/approvals/end.ts";
import { mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { ApiError } from "../../errors.ts";
import type { CheckResult, reportInput } from "../../schemas/checkResult.ts";
import { timestampOf } from "../../schemas/common.ts";
import type { Transaction } from "../../store/database.ts";
import type { CallerContext } from "../../trpc.ts";
import { getAwardedBid } from "../tasks/moveTask.ts";
import { lockTask, type TaskRecord } from "../tasks/records.ts";
import { actorOf, assertTaskAction, type Moment, momentOf, taskAt } from "../tasks/rules.ts";
import { type StoredResult, shownResults } from "../uploads/checkResults.ts";
import { acceptsAtOf, type CheckedDelivery, recordResults } from "./acceptance.ts";
import { findChecked } from "./checkDelivery.ts";

type Report = z.infer<z.ZodObject<typeof reportInput>>;

/** Records what the caller's API key reports about a delivery, while its task waits. Returns the check. */
export async function reportCheck(
  ctx: CallerContext,
  tx: Transaction,
  deliveryId: string,
  { name, conclusion, summary, detailsUrl }: Report,
): Promise<CheckResult> {
  assertKey(ctx);
  const taskId = (await findChecked(tx, deliveryId))?.taskId;
  if (taskId === undefined) throw new ApiError("not_found");
  const task = await lockTask(tx, taskId);
  await takeBackQuestion(ctx, tx, { taskId, deliveryId, name });
  // Only now is it as the last holder of the lock left it.
  const delivery = await findChecked(tx, deliveryId);
  if (delivery === null) throw new ApiError("not_found");
  const moment = momentOf(ctx);
  assertMayReport(ctx, task, name);
  assertTaskAction("report", task, actorOf(task, ctx.userId), moment);
  if (delivery.supersededAt !== null) {
    throw new ApiError("wrong_status", { message: "A later delivery has replaced this one." });
  }
  const reported = (result: StoredResult): StoredResult => ({
    ...{ name, kind: result.kind, required: result.required, ...(result.hidden && { hidden: true }) },
    ...{
      conclusion,
      summary: summary ?? null,
      ...(detailsUrl !== undefined && { detailsUrl }),
      finishedAt: timestampOf(moment.now),
    },
  });
  const checks = delivery.checks.map((result) => (result.name === name ? reported(result) : result));
  const after = { ...delivery, checks };
  await askIfItPays(ctx, tx, task, [delivery, after], moment);
  await recordResults(tx, task, after, moment, { endsBuiltIn: false });
  const shown = shownResults(after, true).find((check) => check.name === name);
  if (shown === undefined) throw new Error(`delivery ${deliveryId} has no check that its task has`);
  return shown;
}

/**
 * The last report counts, so what the key has asked about this check before is no longer what it says. The task is locked before
 * the question, as by who decides the question. A report that has to be asked for itself is undone, and this with it.
 */
async function takeBackQuestion(
  { principal, clock }: CallerContext,
  tx: Transaction,
  { taskId, deliveryId, name }: { taskId: string; deliveryId: string; name: string },
): Promise<void> {
  if (principal.kind !== "apiKey" || principal.approvalAboveCents === null || principal.approvedBy !== undefined)
    return;
  const about = { keyId: principal.keyId, operation: "deliveries.report", subjectId: taskId } as const;
  await supersede(tx, { ...about, input: { id: deliveryId, name } }, clock.now());
}

/** Throws unless the caller is an API key, and returns its id. */
function assertKey({ principal }: CallerContext): string {
  if (principal.kind === "apiKey") return principal.keyId;
  throw new ApiError("forbidden", { message: "Only the API key that the task names for this check may report it." });
}

/** Throws unless the caller's API key is the one that the task names for the check. */
function assertMayReport(ctx: CallerContext, { checkKeys }: { checkKeys: Record<string, string> }, name: string): void {
  const callerKeyId = assertKey(ctx);
  const isNamed = Object.values(checkKeys).includes(callerKeyId);
  const keyId = Object.hasOwn(checkKeys, name) ? checkKeys[name] : undefined;
  if (isNamed && keyId === undefined) {
    const message = "The task has no external check of this name.";
    throw new ApiError("invalid_input", { issues: [{ path: "name", message }] });
  }
  if (keyId !== callerKeyId) {
    throw new ApiError("forbidden", { message: "The task names another API key for this check." });
  }
}

/**
 * Asks the owner of a key about the price, if what it reports leaves nothing but built-in checks between the delivery and its
 * acceptance: those that are not judged yet may pass when nobody can be asked any more.
 */
async function askIfItPays(
  ctx: CallerContext,
  tx: Transaction,
  task: TaskRecord,
  [before, after]: readonly [CheckedDelivery, CheckedDelivery],
  moment: Moment,
): Promise<void> {
  const current = taskAt(task, moment);
  const isPaid = ({ checks, ...delivery }: CheckedDelivery) =>
    acceptsAtOf(current, { ...delivery, checks: checks.map(atBest) }, moment.now) !== null;
  if (isPaid(before) || !isPaid(after)) return;
  const bid = await getAwardedBid(tx, task);
  const about = { taskId: task.id, bidId: bid.id, subjectId: task.id, endsAt: current.acceptanceDeadlineAt };
  mustBeApproved(tx, ctx, { amountCents: bid.priceCents, ...about });
}

/** A built-in check that is not judged yet, as if it had passed. */
const atBest = (result: StoredResult): StoredResult =>
  result.kind === "external" || result.conclusion !== "pending" ? result : { ...result, conclusion: "passed" };
