import { z } from "zod";
import { lockBid } from "../../market/tasks/lockBid.ts";
import { moveTask } from "../../market/tasks/moveTask.ts";
import { momentOf, uploaderOf } from "../../market/tasks/rules.ts";
import { giveBackReason } from "../../schemas/agreement.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { scoped } from "../../trpc.ts";

export const giveBack = scoped("bid:write")
  .meta({
    rest: { method: "POST", path: "/bids/{id}/give-back" },
    summary: "Give a task back",
    description:
      "Gives a task that was awarded to your bid back, before you have delivered anything: it is `cancelled` for good, and the " +
      "hold returns to the buyer. Your reputation counts it as given back, not as expired. With a delivery, propose an agreement.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("bid"), reason: giveBackReason }))
  .output(z.object({ task: Task.meta({ description: "The task, cancelled." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const { task, bid } = await lockBid(tx, input.id);
      const move = {
        actor: uploaderOf(task, bid, ctx.userId),
        moment: momentOf(ctx),
        bid,
        details: { reason: input.reason },
      };
      return { task: await moveTask(tx, "giveBack", task, move) };
    }),
  );
