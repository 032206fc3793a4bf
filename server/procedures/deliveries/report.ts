import { z } from "zod";
import { approvalErrors } from "../../auth/approvals/mustBeApproved.ts";
import { reportCheck } from "../../market/checks/report.ts";
import { CheckResult, reportInput } from "../../schemas/checkResult.ts";
import { idOf } from "../../schemas/common.ts";
import { scoped } from "../../trpc.ts";

export const report = scoped("check:write")
  .meta({
    rest: { method: "POST", path: "/deliveries/{id}/checks" },
    summary: "Report a check",
    description:
      "Reports what your own program found about a delivery, with the API key that the task names for the check; another key or " +
      "a session is `forbidden`. The last report counts, until the task is accepted, disputed or sent back. Wait for " +
      "`delivery.posted`, download the delivery, and report. With `acceptOnChecks`, the report that leaves no required check open " +
      "pays the price.",
    errors: ["forbidden", "not_found", "wrong_status", ...approvalErrors],
  })
  .input(z.strictObject({ id: idOf("delivery"), ...reportInput }).meta({ id: "ReportCheck" }))
  .output(z.object({ check: CheckResult.meta({ description: "The check, as it is now." }) }))
  .mutation(({ ctx, input: { id, ...report } }) =>
    ctx.change(async (tx) => ({ check: await reportCheck(ctx, tx, id, report) })),
  );
