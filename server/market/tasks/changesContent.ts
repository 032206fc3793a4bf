import type { Task } from "../../schemas/task.ts";
import type { TaskRecord } from "./records.ts";

/** Whether a bid that was placed before would now be for something else. */
export function changesContent(
  task: TaskRecord,
  { title = task.title, description = task.description, ...input }: { [Field in ContentField]?: Task[Field] },
): boolean {
  const criteria = input.acceptanceCriteria === undefined ? task.acceptanceCriteria : input.acceptanceCriteria || null;
  return title !== task.title || description !== task.description || criteria !== task.acceptanceCriteria;
}
type ContentField = "title" | "description" | "acceptanceCriteria";
