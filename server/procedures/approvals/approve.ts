import { z } from "zod";
import { assertDecidable, getApproval, lockForDecision } from "../../auth/approvals/decide.ts";
import { toApproval } from "../../auth/approvals/records.ts";
import { assertSecondFactor, countCodeAttempt } from "../../auth/secondFactor.ts";
import { performApproved } from "../../market/approvals/perform.ts";
import { Approval } from "../../schemas/approval.ts";
import { idOf } from "../../schemas/common.ts";
import { FactorCode } from "../../schemas/secondFactor.ts";
import { router, sessionOnly } from "../../trpc.ts";
import { agreementsRouter } from "../agreements/router.ts";
import { deliveriesRouter } from "../deliveries/router.ts";
import { payoutsRouter } from "../payouts/router.ts";
import { tasksRouter } from "../tasks/router.ts";

/** Where the procedures are that can be approved. */
const procedures = router({
  tasks: tasksRouter,
  payouts: payoutsRouter,
  agreements: agreementsRouter,
  deliveries: deliveriesRouter,
});

export const approve = sessionOnly
  .meta({
    rest: { method: "POST", path: "/approvals/{id}/approve" },
    summary: "Approve what an API key asks",
    description:
      "Says yes: the service does what the key has asked for, once, with the rights that the key has now. Send the `version` that you " +
      "have seen as `seen`; if anything has changed since, the answer is `approval_changed` with the present state, and nothing is " +
      "done. If the operation is refused, the approval is `failed`, with its `error`. With a second factor, a fresh `code` is needed.",
    errors: ["not_found", "wrong_status", "approval_changed", "second_factor_required"],
    ignoresIdempotencyKey: true,
  })
  .input(
    z.strictObject({
      id: idOf("approval"),
      seen: z.string().min(1).max(100).meta({ description: "The `version` that you have seen.", example: "b0JkZ2Vu" }),
      code: FactorCode.optional(),
    }),
  )
  .output(z.object({ approval: Approval.meta({ description: "The approval, `approved` or `failed`." }) }))
  .mutation(async ({ ctx, input: { id, seen, code } }) => {
    const asked = await getApproval(ctx, ctx.principal, id);
    assertDecidable(asked, seen);
    if (code !== undefined) await countCodeAttempt(ctx.database, ctx, ctx.userId, code);
    const { keyId, operation } = asked;
    const details = { approvalId: id, decision: "approved", approvedKeyId: keyId, operation };
    const ended = await performApproved(ctx, {
      ...{ procedures, asked },
      async begin(tx) {
        const row = await lockForDecision(tx, ctx, asked, seen);
        await assertSecondFactor(tx, ctx, ctx.userId, code);
        return row;
      },
      record: (tx) => tx.onCommit(() => ctx.securityLog.record(ctx, "approval.decided", details)),
    });
    return { approval: toApproval(ended) };
  });
