import { z } from "zod";
import { findQuestion, updateQuestion } from "../../market/conversation/questions.ts";
import { recordAction } from "../../market/moderation/actions.ts";
import { lockTaskOfQuestion, updateTask } from "../../market/tasks/records.ts";
import { idOf } from "../../schemas/common.ts";
import { removalReason } from "../../schemas/question.ts";
import { inOrder, sql } from "../../store/connection.ts";
import { moderator } from "../../trpc.ts";

export const remove = moderator
  .meta({
    rest: { method: "DELETE", path: "/questions/{id}", status: 204, takesBody: true },
    summary: "Remove a question",
    description:
      "Erases the words of a question and of its answer, as a moderator, whatever the task's status. The question stays in " +
      "the list without them, and the removal is recorded with its reason. Nothing happens to one that was removed already.",
    errors: ["not_found"],
  })
  .input(z.strictObject({ id: idOf("question"), reason: removalReason }))
  .output(z.void())
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [task, question] = await inOrder(
        () => lockTaskOfQuestion(tx, input.id),
        () => findQuestion(tx, input.id),
      );
      if (question.removedAt !== null) return;
      await inOrder(
        () => updateTask(tx, task.id, sql`question_count = question_count - 1`),
        () =>
          updateQuestion(
            tx,
            question.id,
            sql`text = NULL, answer = NULL, answered_at = NULL, answer_edited_at = NULL, removed_at = service_now()`,
          ),
      );
      await recordAction(tx, {
        ...{ action: "remove_question", moderatorId: ctx.userId, userId: question.asker.id },
        ...{ questionId: question.id, reason: input.reason },
      });
      tx.onCommit(() => ctx.securityLog.record(ctx, "question.removed", { questionId: question.id }));
    }),
  );
