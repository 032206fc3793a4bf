import { z } from "zod";
import { approvalErrors, mustBeApproved } from "../../auth/approvals/mustBeApproved.ts";
import { ApiError } from "../../errors.ts";
import { agreementAt, amountOf, taskActionOf } from "../../market/agreements/rules.ts";
import { addAgreement, endPending, findPending } from "../../market/tasks/agreements.ts";
import { getAwardedBid } from "../../market/tasks/moveTask.ts";
import { lockTask, type TaskRecord } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, deadlineOf, type Moment, momentOf, taskAt } from "../../market/tasks/rules.ts";
import { Agreement, ProposeAgreement } from "../../schemas/agreement.ts";
import type { Bid } from "../../schemas/bid.ts";
import type { Transaction } from "../../store/database.ts";
import { scoped } from "../../trpc.ts";

const YEAR_MS = 365 * 24 * 3_600_000;

export const propose = scoped("agreement:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/agreements", status: 201 },
    summary: "Propose an agreement",
    description:
      "Proposes to the other side of an awarded task to `extend` the due time, to `cancel` the task (the hold returns to the " +
      "buyer), or to `settle` it (the bidder is paid `bidderCents`, the rest returns), also instead of a moderator's decision. " +
      "Nothing moves until the other side accepts. A task has one pending agreement; it lapses after 7 days and when the task moves.",
    errors: ["forbidden", "not_found", "wrong_status", "agreement_pending", ...approvalErrors],
  })
  .input(ProposeAgreement)
  .output(z.object({ agreement: Agreement.meta({ description: "The proposal, pending." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { id: taskId, kind, reason, deliveryDueAt, bidderCents } = input;
      const task = await lockTask(tx, taskId);
      const [actor, moment] = [actorOf(task, ctx.userId), momentOf(ctx)];
      assertTaskAction(taskActionOf(kind, taskAt(task, moment).status), task, actor, moment);
      const bid = await getAwardedBid(tx, task);
      if (deliveryDueAt !== undefined) assertLater(deliveryDueAt, task, moment);
      if (bidderCents !== undefined && bidderCents > bid.priceCents) {
        throw invalid(
          "bidderCents",
          `The price is ${bid.priceCents} cents: a settlement pays the bidder at most that.`,
        );
      }
      await assertNonePending(tx, task, bid, moment);
      const proposedBy = actor === "buyer" ? "buyer" : "bidder";
      const amountCents = amountOf({ kind, bidderCents }, bid, proposedBy);
      const endsAt = deadlineOf(taskAt(task, moment), moment)?.toISOString() ?? null;
      mustBeApproved(tx, ctx, { amountCents, taskId, bidId: bid.id, subjectId: taskId, endsAt });
      const expiresAt = new Date(moment.now.getTime() + ctx.settings.agreementSeconds * 1000);
      const proposal = { taskId, kind, proposedBy, reason, deliveryDueAt, bidderCents, expiresAt } as const;
      const agreement = await addAgreement(tx, proposal);
      tx.events.record("agreement.proposed", { task, bid, agreement }, [task.buyerId, bid.bidder.id]);
      tx.jobs.add("lapseAgreement", { agreementId: agreement.id }, { runAt: expiresAt });
      return { agreement };
    }),
  );

/** Throws `agreement_pending`. One that has lapsed and was not swept yet is ended first. */
async function assertNonePending(tx: Transaction, task: TaskRecord, bid: Bid, moment: Moment): Promise<void> {
  const pending = await findPending(tx, task.id);
  if (pending === null) return;
  const { status, endedAt } = agreementAt(pending, task, moment);
  if (status === "pending") throw new ApiError("agreement_pending", { agreementId: pending.id });
  const agreement = await endPending(tx, task.id, "lapsed", new Date(endedAt ?? moment.now));
  if (agreement !== null) tx.events.record("agreement.ended", { task, bid, agreement }, [task.buyerId, bid.bidder.id]);
}

const invalid = (path: string, message: string) => new ApiError("invalid_input", { issues: [{ path, message }] });

/** Throws `invalid_input` unless it is later than now and than the present due time, and at most a year ahead. */
function assertLater(proposed: string, { deliveryDueAt }: TaskRecord, { now }: Moment): void {
  const time = Date.parse(proposed);
  const [nowMs, dueMs] = [now.getTime(), Date.parse(deliveryDueAt ?? proposed)];
  if (time <= nowMs || time <= dueMs || time > nowMs + YEAR_MS) {
    throw invalid(
      "deliveryDueAt",
      "It must be later than now and than the present due time, and at most a year ahead.",
    );
  }
}
