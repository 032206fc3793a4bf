import { z } from "zod";
import { endAgreement } from "../../market/agreements/endAgreement.ts";
import { Agreement } from "../../schemas/agreement.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const decline = scoped("agreement:write")
  .meta({
    rest: { method: "POST", path: "/agreements/{id}/decline" },
    summary: "Decline an agreement",
    description:
      "Declines what the other side proposes. Nothing changes for the task, and either side may propose something else.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("agreement") }))
  .output(
    z.object({
      agreement: Agreement.meta({ description: "The agreement, ended." }),
      task: Task.meta({ description: "The task, as before." }),
    }),
  )
  .mutation(({ ctx, input }) => ctx.change((tx) => endAgreement(tx, ctx, input.id, "decline")));
