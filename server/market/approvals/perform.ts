import { type AnyTRPCRouter, callTRPCProcedure } from "@trpc/server";
import { z } from "zod";
import { principalOf } from "../../auth/approvals/decide.ts";
import { endApproval } from "../../auth/approvals/end.ts";
import type { ApprovalRow } from "../../auth/approvals/records.ts";
import { ApiError } from "../../errors.ts";
import { unlimited } from "../../limits/limiter.ts";
import { definitionOf } from "../../meta.ts";
import { claimNothing } from "../../repeats/changes.ts";
import type { Transaction, Work } from "../../store/database.ts";
import { isRetryable } from "../../store/databaseErrors.ts";
import { toApiError } from "../../translateErrors.ts";
import type { CallerContext, Context } from "../../trpc.ts";
import { unlimitedTurns } from "../../turns.ts";

interface Decision {
  /** The procedures that can be approved, under the names of typed RPC. */
  procedures: AnyTRPCRouter;
  asked: ApprovalRow;
  /** Locks the approval in the transaction of the decision, and throws if it cannot be decided like this. */
  begin(tx: Transaction): Promise<ApprovalRow>;
  /** Is called in the transaction that records the decision. */
  record(tx: Transaction): void;
}

/**
 * Does what was approved: calls the procedure that the API key has called, with the same input and the rights that the key has
 * now. What the procedure changes and the decision are one transaction, so that it is done once. If it is refused, that is
 * recorded instead. A failure of ours leaves the approval pending.
 */
export async function performApproved(ctx: CallerContext, decision: Decision): Promise<ApprovalRow> {
  const { asked, procedures } = decision;
  const [now, decidedBy] = [ctx.clock.now(), ctx.userId];
  const outcome: { ended?: ApprovalRow; undecided?: unknown } = {};
  const change = <Result>(work: Work<Result>) =>
    ctx.database.transaction(
      async (tx) => {
        const row = await decision.begin(tx).catch((error: unknown) => {
          if (isRetryable(error)) throw error;
          outcome.undecided = error;
          // Only carries the failure through the procedure, each of which documents this code.
          throw new ApiError("idempotency_conflict", {}, error);
        });
        const result = await work(tx);
        const kept = await resultOf(procedures, asked, result);
        outcome.ended = await endApproval(tx, row, { status: "approved", now, decidedBy, result: kept });
        decision.record(tx);
        return result;
      },
      { userId: asked.userId, keyId: asked.keyId, approvedBy: decidedBy },
    );
  try {
    await call(procedures, asked, await contextOf(ctx, asked, change));
  } catch (thrown) {
    if (outcome.undecided !== undefined) throw outcome.undecided;
    const error = toApiError(thrown);
    if (error.status >= 500) throw error;
    const failed = { status: "failed", now, decidedBy, error: error.toBody(ctx.requestId) } as const;
    return ctx.change(async (tx) => {
      const row = await decision.begin(tx);
      decision.record(tx);
      return endApproval(tx, row, failed);
    });
  }
  if (outcome.ended === undefined) throw new Error(`${asked.operation} has changed nothing`);
  return outcome.ended;
}

/** The context of a request with the key, whose limits were counted when it asked. */
async function contextOf(
  ctx: CallerContext,
  asked: ApprovalRow,
  change: <Result>(work: Work<Result>) => Promise<Result>,
): Promise<Context> {
  const { idempotencyKey: _, dryRun: __, ...base } = ctx;
  const claim = claimNothing(change);
  return {
    ...base,
    ...{ limits: unlimited, turns: unlimitedTurns, setHeader: () => {} },
    principal: await principalOf(ctx.database, asked, ctx.userId),
    decision: { change, claim, claimToAsk: claim },
  };
}

const call = (router: AnyTRPCRouter, { operation, input }: ApprovalRow, ctx: Context): Promise<unknown> =>
  callTRPCProcedure({
    ...{ router, path: operation, type: "mutation", ctx, batchIndex: 0, signal: undefined },
    getRawInput: async () => input,
  });

const JsonObject = z.record(z.string(), z.unknown());

/** What the operation returns, with only its documented fields. */
async function resultOf(router: AnyTRPCRouter, { operation }: ApprovalRow, result: unknown) {
  const all: Record<string, unknown> = router._def.procedures;
  const { output } = definitionOf(all[operation]);
  if (output === undefined) throw new Error(`${operation} has no output`);
  return JsonObject.parse(await z.parseAsync(output, result));
}
