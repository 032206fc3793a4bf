import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { checksWithKeys, findReportingKeys, noReportingKey } from "../../market/checks/keys.ts";
import { lockTask, updateTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { reportInput } from "../../schemas/checkResult.ts";
import { idOf } from "../../schemas/common.ts";
import { Task } from "../../schemas/task.ts";
import { sql } from "../../store/connection.ts";
import { sessionOnly } from "../../trpc.ts";

export const setCheckKey = sessionOnly
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/checks/key" },
    summary: "Name another key for a check",
    description:
      "Names another API key of yours to report an external check of your task, when the one that it names has ended: was " +
      "revoked or has expired. Until then it is `wrong_status`.",
    errors: ["forbidden", "not_found", "wrong_status"],
    rateGroup: "taskWrite",
  })
  .input(
    z
      .strictObject({
        id: idOf("task"),
        name: reportInput.name,
        keyId: idOf("API key", "Your API key that is to report, with `check:write`."),
      })
      .meta({ id: "SetCheckKey" }),
  )
  .output(z.object({ task: Task.meta({ description: "The task, with the keys of its checks." }) }))
  .mutation(({ ctx, input: { id, name, keyId } }) =>
    ctx.change(async (tx) => {
      const task = await lockTask(tx, id);
      assertTaskAction("setCheckKey", task, actorOf(task, ctx.userId), momentOf(ctx));
      const current = Object.hasOwn(task.checkKeys, name) ? task.checkKeys[name] : undefined;
      if (current === undefined) {
        const message = "The task has no external check of this name.";
        throw new ApiError("invalid_input", { issues: [{ path: "name", message }] });
      }
      const live = await findReportingKeys(tx, ctx.userId, [current, keyId]);
      if (live.has(current)) {
        throw new ApiError("wrong_status", { message: "The key that the check names has not ended. Revoke it first." });
      }
      if (!live.has(keyId)) throw noReportingKey("keyId");
      const keys = JSON.stringify({ ...task.checkKeys, [name]: keyId });
      const updated = await updateTask(tx, task.id, sql`check_keys = ${keys}::jsonb`);
      tx.events.record("task.updated", { task: updated }, [ctx.userId]);
      return { task: { ...updated, checks: checksWithKeys(updated) } };
    }),
  );
