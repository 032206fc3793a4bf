import type { Webhook } from "../../api/client.ts";
import { limitsOf } from "../../limits.ts";
import type { FieldReader } from "../../parts/fieldReader.ts";
import { Choices } from "../../parts/fields.tsx";

type Events = Pick<Webhook, "events" | "logEvents">;

const optionsOf = (field: keyof Events) => limitsOf("webhooks.create", field).options ?? [];
const isOption = <Field extends keyof Events>(field: Field, name: string): name is Events[Field][number] =>
  optionsOf(field).includes(name);

/** What an endpoint is sent: the events of webhooks, and behind a summary the others of the log. */
export function EventChoices({ chosen = { events: [], logEvents: [] } }: { chosen?: Events }) {
  const choices = (field: keyof Events) => optionsOf(field).map((name) => ({ value: name, label: name }));
  return (
    <>
      <Choices name="events" label="Events" options={choices("events")} chosen={chosen.events} />
      <details open={chosen.logEvents.length > 0}>
        <summary>More events, when they concern you</summary>
        <Choices name="logEvents" label="More events" options={choices("logEvents")} chosen={chosen.logEvents} />
      </details>
    </>
  );
}

export const readEvents = (fields: FieldReader): Events => ({
  events: fields.all("events").filter((name) => isOption("events", name)),
  logEvents: fields.all("logEvents").filter((name) => isOption("logEvents", name)),
});
