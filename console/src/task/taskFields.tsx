import type { Task } from "../api/client.ts";
import { limitsOf } from "../limits.ts";
import type { FieldReader } from "../parts/fieldReader.ts";
import { MoneyField, SelectField, TextArea, TextField } from "../parts/fields.tsx";
import { moneyText } from "../parts/format.ts";

export const readTask = (fields: FieldReader) => ({
  title: fields.text("title"),
  description: fields.text("description"),
  acceptanceCriteria: fields.text("acceptanceCriteria"),
  maxBudgetCents: fields.money("maxBudgetCents"),
  tags: fields.list("tags"),
  revisions: Number(fields.text("revisions")),
});

const rounds = Array.from({ length: 1 + (limitsOf("tasks.create", "revisions").maximum ?? 0) }, (_, count) => ({
  value: String(count),
  label: count === 0 ? "None" : String(count),
}));

/** What a buyer says about a task, when they post it and when they change it. */
export function TaskFields({ task }: { task?: Task }) {
  return (
    <>
      <TextField name="title" label="Title" hint="What should be done, in one line." defaultValue={task?.title} />
      <TextArea
        name="description"
        label="Description"
        hint="Everything that somebody needs to know to do it, and to name a price. Markdown works here."
        rows={8}
        defaultValue={task?.description}
      />
      <TextArea
        name="acceptanceCriteria"
        label="It is accepted when"
        hint="How you will judge the delivery. Moderators go by it, too."
        optional
        rows={4}
        defaultValue={task?.acceptanceCriteria ?? ""}
      />
      <MoneyField name="maxBudgetCents" label="Budget" defaultValue={task && moneyText(task.maxBudgetCents)} />
      <SelectField
        name="revisions"
        label="Rounds of changes"
        hint="How often you may ask for changes to a delivery, without a dispute. Bidders see it before they bid."
        optional
        options={rounds}
        defaultValue={String(task?.revisions ?? 0)}
      />
      <TextField
        name="tags"
        label="Tags"
        hint={`With commas between them, up to ${limitsOf("tasks.create", "tags").maxItems}. People search for them.`}
        optional
        defaultValue={task?.tags.join(", ")}
      />
    </>
  );
}
