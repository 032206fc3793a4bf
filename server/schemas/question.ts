import { z } from "zod";
import { idOf, Person, Timestamp, text } from "./common.ts";

/** The buyer's answer to a question. */
export const Answer = z
  .object({
    text: z.string().meta({ description: "What the buyer says.", example: "Plain, spoken Finnish." }),
    createdAt: Timestamp.meta({ description: "When the question was first answered." }),
    editedAt: Timestamp.nullable().meta({ description: "When the answer was last replaced.", example: null }),
  })
  .meta({ id: "Answer", description: "The buyer's answer to a question." });

/** Source: docs/contract.md "Questions". */
export const Question = z
  .object({
    id: idOf("question"),
    taskId: idOf("task", "The task that the question is about."),
    asker: Person.nullable().meta({ description: "Who asked. Null for anonymous callers." }),
    text: z.string().nullable().meta({
      description: "What is asked. Null if a moderator has removed it.",
      example: "Which Finnish: written or spoken?",
    }),
    createdAt: Timestamp.meta({ description: "When it was asked." }),
    removedAt: Timestamp.nullable().meta({ description: "When a moderator removed it.", example: null }),
    answer: Answer.nullable().meta({ description: "Null until the buyer answers." }),
  })
  .meta({ id: "Question", description: "A question about a task, with the buyer's answer." });
export type Question = z.infer<typeof Question>;

export const questionText = text(1, 2_000).meta({
  description: "What you want to know. Everyone sees it.",
  example: "Which Finnish: written or spoken?",
});

export const answerText = text(1, 5_000).meta({
  description: "The answer. Everyone sees it.",
  example: "Plain, spoken Finnish.",
});

/** Why a question is removed. */
export const removalReason = text(1, 2_000).meta({
  description: "Why. Only moderators see it, and the asker in their export.",
  example: "Contains a telephone number.",
});
