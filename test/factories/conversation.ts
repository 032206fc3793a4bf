import type { TestPerson } from "./people.ts";
import { postTask } from "./tasks.ts";

/** Posts a task, and asks about it. */
export async function askedQuestion(buyer: TestPerson, asker: TestPerson) {
  const { id } = await postTask(buyer);
  const answer = await asker.post(`/tasks/${id}/questions`, { text: "How many words?" });
  if (answer.status !== 201) throw new Error(`asking returned ${answer.status}: ${answer.text}`);
  return answer.body.question;
}
