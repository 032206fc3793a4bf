import type { z } from "zod";
import { ApiError } from "../../errors.ts";
import type { CheckResult, reportInput } from "../../schemas/checkResult.ts";
import { timestampOf } from "../../schemas/common.ts";
import type { Transaction } from "../../store/database.ts";
import type { CallerContext } from "../../trpc.ts";
import { getAwardedBid } from "../tasks/moveTask.ts";
import { lockTask, type TaskRecord } from "../tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../tasks/rules.ts";
import { type StoredResult, shownResults } from "../uploads/checkResults.ts";
import { recordResults } from "./acceptance.ts";
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
  await assertMayPay(ctx, tx, task, conclusion);
  const checks = delivery.checks.map((result) => (result.name === name ? reported(result) : result));
  await recordResults(tx, task, { ...delivery, checks }, moment, { endsBuiltIn: false });
  const shown = shownResults({ ...delivery, checks }, true).find((check) => check.name === name);
  if (shown === undefined) throw new Error(`delivery ${deliveryId} has no check that its task has`);
  return shown;
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
 * A key that asks its owner about larger amounts may not pay them by a report: throws `forbidden` if what passes could accept
 * the delivery, and its price is above the key's threshold.
 */
async function assertMayPay(
  { principal }: CallerContext,
  tx: Transaction,
  task: TaskRecord,
  conclusion: Report["conclusion"],
): Promise<void> {
  if (principal.kind !== "apiKey" || principal.approvalAboveCents === null) return;
  if (conclusion !== "passed" || task.acceptOnChecks === null) return;
  const { priceCents } = await getAwardedBid(tx, task);
  if (priceCents <= principal.approvalAboveCents) return;
  throw new ApiError("forbidden", { message: "The price is above what this API key may pay without its owner." });
}
