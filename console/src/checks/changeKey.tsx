import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, type Check, type Task } from "../api/client.ts";
import { keysQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Confirm } from "../parts/confirm.tsx";
import { SelectField } from "../parts/fields.tsx";
import { Notice } from "../parts/notice.tsx";
import styles from "./checks.module.css";

/** The checks of a task whose key has ended: nobody can report them before the buyer has named another key. */
export function EndedKeys({ task }: { task: Task }) {
  const { data } = useQuery(keysQuery);
  if (data === undefined) return null;
  const live = new Set(data.keys.map(({ id }) => id));
  const ended = task.checks.filter((check) => check.kind === "external" && !live.has(check.keyId ?? ""));
  const reporting = data.keys.filter(({ kind, scopes }) => kind === "key" && scopes.includes("check:write"));
  const options = reporting.map(({ id, label, last4 }) => ({ value: id, label: `${label} (…${last4})` }));
  return ended.map((check) => (
    <Notice key={check.name} kind="warn" title="Your program can no longer report">
      <div className={styles.rows}>
        <span>
          The key for the check “<bdi>{check.name}</bdi>” has ended.
        </span>
        {options.length === 0 ? (
          <span>
            <Link to="/keys">Create a key</Link> with the permission <code>check:write</code>, and name it here.
          </span>
        ) : (
          <ChangeKey task={task} check={check} options={options} />
        )}
      </div>
    </Notice>
  ));
}

interface ChangeKeyProps {
  task: Task;
  check: Check;
  options: readonly { value: string; label: string }[];
}

function ChangeKey({ task, check, options }: ChangeKeyProps) {
  const setKey = useAction("tasks.setCheckKey", api.tasks.setCheckKey.mutate);
  return (
    <Confirm
      button="Name another key"
      title="Which key reports from now on?"
      confirm="Use this key"
      action={setKey}
      operation="tasks.setCheckKey"
      read={(fields) => ({ id: task.id, name: check.name, keyId: fields.text("keyId") })}
    >
      <SelectField name="keyId" label="Key" options={options} defaultValue={options[0]?.value} />
    </Confirm>
  );
}
