import { z } from "zod";

/** One problem in the input. */
export const InputIssue = z
  .object({
    path: z.string().meta({ description: "The field's path, joined with dots; empty for the input as a whole." }),
    message: z.string().meta({ description: "What is wrong, and what is allowed instead." }),
  })
  .meta({ id: "InputIssue", description: "One problem in the input." });
export type InputIssue = z.infer<typeof InputIssue>;
