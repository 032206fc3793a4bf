import { z } from "zod";
import { getApproval, lockForDecision } from "../../auth/approvals/decide.ts";
import { endApproval } from "../../auth/approvals/end.ts";
import { toApproval } from "../../auth/approvals/records.ts";
import { Approval } from "../../schemas/approval.ts";
import { idOf, text } from "../../schemas/common.ts";
import { sessionOnly } from "../../trpc.ts";

export const decline = sessionOnly
  .meta({
    rest: { method: "POST", path: "/approvals/{id}/decline" },
    summary: "Decline what an API key asks",
    description:
      "Says no, with a reason that the key's agent reads. The same request is refused with `approval_declined` for 24 hours.",
    errors: ["not_found", "wrong_status"],
  })
  .input(
    z.strictObject({
      id: idOf("approval"),
      reason: text(1, 2_000).meta({ description: "Why, for the agent.", example: "Too expensive: at most $50." }),
    }),
  )
  .output(z.object({ approval: Approval.meta({ description: "The approval, `declined`." }) }))
  .mutation(({ ctx, input: { id, reason } }) =>
    ctx.change(async (tx) => {
      const asked = await getApproval({ database: tx, clock: ctx.clock }, ctx.principal, id);
      const row = await lockForDecision(tx, ctx, asked);
      const end = { status: "declined", now: ctx.clock.now(), decidedBy: ctx.userId, reason } as const;
      const details = { approvalId: id, decision: "declined", approvedKeyId: row.keyId, operation: row.operation };
      tx.onCommit(() => ctx.securityLog.record(ctx, "approval.decided", details));
      return { approval: toApproval(await endApproval(tx, row, end)) };
    }),
  );
