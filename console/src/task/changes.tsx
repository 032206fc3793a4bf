import { api, type Task } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { limitsOf } from "../limits.ts";
import { Confirm } from "../parts/confirm.tsx";
import { TextArea, TextField } from "../parts/fields.tsx";
import { plural } from "../parts/format.ts";
import { LongText } from "../parts/longText.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";

/** How long the bidder has by default. */
const HOURS = 72;

/** The buyer's third answer to a delivery: it is not there yet. */
export function AskForChanges({ task }: { task: Task }) {
  const request = useAction("tasks.requestChanges", api.tasks.requestChanges.mutate);
  const left = task.revisions - task.revisionsUsed;
  const { minimum, maximum } = limitsOf("tasks.requestChanges", "hours");
  return (
    <Confirm
      button="Ask for changes"
      title="Ask for changes?"
      confirm="Ask for changes"
      action={request}
      operation="tasks.requestChanges"
      read={(fields) => ({ id: task.id, reason: fields.text("reason"), hours: fields.number("hours") })}
    >
      <Notice kind="info">
        {left === 1 ? "This is the last round" : `You have ${plural(left, "round")}`}, of the {task.revisions} of this
        task. The money stays held. If nothing comes in time, or the bidder declines, this delivery stands again and you
        have a new time to accept or dispute it. Without an answer it is then paid.
      </Notice>
      <TextArea
        name="reason"
        label="What must change?"
        hint="By what was agreed. The bidder reads it, and moderators if there is a dispute."
        rows={5}
      />
      <TextField
        name="hours"
        label="Hours for the bidder"
        hint={`From ${minimum} to ${maximum}. 72 are three days.`}
        inputMode="decimal"
        defaultValue={String(HOURS)}
      />
    </Confirm>
  );
}

/** The bidder's answer to a request for changes, besides another delivery. */
export function DeclineChanges({ task }: { task: Task }) {
  const decline = useAction("tasks.declineChanges", api.tasks.declineChanges.mutate);
  return (
    <Confirm
      button="Decline the changes"
      look="danger"
      title="Decline the changes?"
      confirm="Decline the changes"
      action={decline}
      operation="tasks.declineChanges"
      read={(fields) => ({ id: task.id, reason: fields.text("reason") })}
    >
      <p>
        What you delivered stands again. The buyer has a new time to accept or dispute it; without an answer, you are
        paid.
      </p>
      <TextArea
        name="reason"
        label="Why is it as agreed?"
        hint="The buyer reads it, and moderators if there is a dispute."
        rows={5}
      />
    </Confirm>
  );
}

/** What the buyer has asked for, while the bidder works on it. */
export function ChangesAsked({ task, changes }: { task: Task; changes: NonNullable<Task["changes"]> }) {
  return (
    <Section title={`Changes, round ${changes.round} of ${task.revisions}`} card>
      <p>
        <bdi>{task.buyer.displayName}</bdi> asked <Time at={changes.requestedAt} />:
      </p>
      <LongText text={changes.reason} />
    </Section>
  );
}
