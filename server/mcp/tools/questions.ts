import { z } from "zod";
import { Id } from "../../schemas/common.ts";
import { answerText, Question, questionText } from "../../schemas/question.ts";
import { plainTool } from "../tool.ts";
import { taskId } from "./getTask.ts";

export const askQuestion = plainTool({
  name: "ask_question",
  title: "Ask a question",
  description:
    "Asks the buyer of an open task what you must know before you bid. Everyone sees the question and the answer, so read the " +
    "questions in get_task first. At most 20 of yours about one task may wait for an answer.",
  procedures: ["tasks.ask"],
  kind: "change",
  input: z.strictObject({ taskId, text: questionText }),
  output: z.object({ question: Question }),
  async run({ keyed, text }, { taskId: id, text: words }) {
    const { question } = await keyed.tasks.ask({ id, text: words });
    text.say(`Asked question ${question.id} about task ${id}.`).next("wait_for_events with types question.answered.");
    return { question };
  },
});

export const answerQuestion = plainTool({
  name: "answer_question",
  title: "Answer a question",
  description:
    "Answers a question about your open task, for everyone to see. A second answer replaces the first. Changes of what is asked " +
    "for belong into the task itself: use change_task for them.",
  procedures: ["questions.answer"],
  kind: "change",
  input: z.strictObject({
    questionId: Id.meta({ description: "The question's `id`: see get_task." }),
    text: answerText,
  }),
  output: z.object({ question: Question }),
  async run({ keyed, text }, { questionId: id, text: words }) {
    const { question } = await keyed.questions.answer({ id, text: words });
    text.say(`Answered question ${id} about task ${question.taskId}.`).next("get_task for the others.");
    return { question };
  },
});
