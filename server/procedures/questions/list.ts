import { z } from "zod";
import { type QuestionRow, questionColumns, questionOf } from "../../market/conversation/questions.ts";
import { findTask } from "../../market/tasks/records.ts";
import { idOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { Question } from "../../schemas/question.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { anyone } from "../../trpc.ts";

export const list = anyone
  .meta({
    rest: { method: "GET", path: "/tasks/{id}/questions" },
    summary: "List a task's questions",
    description:
      "Lists the questions about a task with their answers, newest first. A question that a moderator has removed stays in " +
      "the list without its words. Anonymous callers do not see who asked.",
    rateGroup: "publicRead",
    errors: ["not_found"],
  })
  .input(PageQuery.extend({ id: idOf("task") }))
  .output(z.object({ questions: z.array(Question).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input }) => {
    const task = await findTask(ctx.database, input.id);
    const { rows, nextCursor } = await readPage<QuestionRow>(ctx.database, "questions.list", {
      ...input,
      select: sql`SELECT ${questionColumns} FROM questions q`,
      where: sql`q.task_id = ${task.id}::uuid`,
    });
    const isAnonymous = ctx.principal === null;
    const questions = rows.map((row) => ({ ...questionOf(row), ...(isAnonymous && { asker: null }) }));
    return { questions, nextCursor };
  });
