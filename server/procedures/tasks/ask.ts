import { z } from "zod";
import { addQuestion } from "../../market/conversation/questions.ts";
import { lockTask, updateTask } from "../../market/tasks/records.ts";
import { actorOf, assertTaskAction, momentOf } from "../../market/tasks/rules.ts";
import { idOf } from "../../schemas/common.ts";
import { Question, questionText } from "../../schemas/question.ts";
import { inOrder, sql } from "../../store/connection.ts";
import { assertCallerActive } from "../../store/userLock.ts";
import { scoped } from "../../trpc.ts";

export const ask = scoped("message:write")
  .meta({
    rest: { method: "POST", path: "/tasks/{id}/questions", status: 201 },
    summary: "Ask about a task",
    description:
      "Asks the buyer of an open task a question. Everyone sees it, and the answer; anonymous callers do not see who " +
      "asked. Of your questions about one task, up to 20 may wait for an answer (`limit_reached`).",
    errors: ["forbidden", "not_found", "wrong_status", "limit_reached"],
  })
  .input(z.strictObject({ id: idOf("task"), text: questionText }).meta({ id: "AskQuestion" }))
  .output(z.object({ question: Question.meta({ description: "The new question." }) }))
  .mutation(({ ctx, input }) =>
    ctx.change(async (tx) => {
      const [found] = await inOrder(
        () => lockTask(tx, input.id),
        () => assertCallerActive(tx, ctx.userId),
      );
      const { event } = assertTaskAction("ask", found, actorOf(found, ctx.userId), momentOf(ctx));
      const question = await addQuestion(tx, found.id, ctx.userId, input.text);
      const task = await updateTask(tx, found.id, sql`question_count = question_count + 1`);
      tx.events.record(event, { task, question }, [task.buyerId]);
      return { question };
    }),
  );
