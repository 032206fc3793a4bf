import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { findActiveBidders } from "../../market/bids/records.ts";
import { findQuestion, updateQuestion } from "../../market/conversation/questions.ts";
import { lockTaskOfQuestion } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { answerText, Question } from "../../schemas/question.ts";
import { inOrder, sql } from "../../store/connection.ts";
import { scoped } from "../../trpc.ts";

export const answer = scoped("message:write")
  .meta({
    rest: { method: "POST", path: "/questions/{id}/answer" },
    summary: "Answer a question",
    description:
      "Answers a question about an open task of yours. Everyone sees the answer. A second answer replaces the first, and " +
      "`editedAt` says when.",
    errors: ["forbidden", "not_found", "wrong_status"],
  })
  .input(z.strictObject({ id: idOf("question"), text: answerText }))
  .output(z.object({ question: Question.meta({ description: "The question, with its answer." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [task, asked] = await inOrder(
        () => lockTaskOfQuestion(tx, input.id),
        () => findQuestion(tx, input.id),
      );
      const { event } = assertTaskAction("answer", task, actorOf(task, ctx.userId), momentOf(ctx));
      if (asked.removedAt !== null)
        throw new ApiError("wrong_status", { message: "A moderator removed the question." });
      const question = await updateQuestion(
        tx,
        asked.id,
        sql`answer = ${input.text}, answered_at = coalesce(answered_at, service_now()),
            answer_edited_at = CASE WHEN answered_at IS NOT NULL THEN service_now() END`,
      );
      tx.events.record(event, { task, question }, [question.asker.id, ...(await findActiveBidders(tx, task.id))]);
      return { question };
    }),
  );
