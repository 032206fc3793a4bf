import { z } from "zod";
import { endAgreement } from "../../market/agreements/endAgreement.ts";
import { Agreement } from "../../schemas/agreement.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const withdraw = scoped("agreement:write")
  .meta({
    rest: { method: "POST", path: "/agreements/{id}/withdraw" },
    summary: "Withdraw an agreement",
    description:
      "Withdraws what you proposed, as long as the other side has not answered. Nothing changes for the task.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("agreement") }))
  .output(
    z.object({
      agreement: Agreement.meta({ description: "The agreement, ended." }),
      task: Task.meta({ description: "The task, as before." }),
    }),
  )
  .mutation(({ ctx, input }) => ctx.change((tx) => endAgreement(tx, ctx, input.id, "withdraw")));
