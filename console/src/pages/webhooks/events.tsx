import eventWords from "virtual:events";
import { useRef } from "react";
import type { Webhook } from "../../api/client.ts";
import { optionsOf as namesOf } from "../../options.ts";
import { Button } from "../../parts/button.tsx";
import type { FieldReader } from "../../parts/fieldReader.ts";
import { Choices } from "../../parts/fields.tsx";
import styles from "../developers.module.css";

type Events = Pick<Webhook, "events" | "logEvents">;

const optionsOf = (field: keyof Events) => namesOf("webhooks.create", field);
const isOption = <Field extends keyof Events>(field: Field, name: string): name is Events[Field][number] =>
  optionsOf(field).includes(name);

/** What an endpoint is sent: the events of webhooks, and behind a summary the others of the log. */
export function EventChoices({ chosen = { events: [], logEvents: [] } }: { chosen?: Events }) {
  const part = useRef<HTMLDivElement>(null);
  const choices = (field: keyof Events) =>
    optionsOf(field).map((name) => ({ value: name, label: name, hint: eventWords[name] }));
  const chooseAll = () => {
    for (const box of part.current?.querySelectorAll<HTMLInputElement>("[name=events]") ?? []) box.checked = true;
  };
  return (
    <div ref={part} className={styles.events}>
      <Choices name="events" label="Events" options={choices("events")} chosen={chosen.events} />
      <div>
        <Button size="small" onClick={chooseAll}>
          All of these
        </Button>
      </div>
      <details open={chosen.logEvents.length > 0}>
        <summary>More events, when they concern you</summary>
        <Choices name="logEvents" label="More events" options={choices("logEvents")} chosen={chosen.logEvents} />
      </details>
    </div>
  );
}

export const readEvents = (fields: FieldReader): Events => ({
  events: fields.all("events").filter((name) => isOption("events", name)),
  logEvents: fields.all("logEvents").filter((name) => isOption("logEvents", name)),
});
