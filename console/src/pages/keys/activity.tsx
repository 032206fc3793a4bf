import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { KeyAct } from "../../api/client.ts";
import { keyActivityQuery } from "../../api/queries.ts";
import { Problem } from "../../parts/problem.tsx";
import { Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "../developers.module.css";
import { wordsOfAct } from "./words.ts";

/** What a key did, which is read once somebody wants to see it. */
export function Activity({ keyId, label }: { keyId: string; label: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error } = useQuery({ ...keyActivityQuery(keyId), enabled: isOpen });
  return (
    <details className={styles.attempts} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What it did</summary>
      {error !== null && <Problem error={error} />}
      {isOpen && data === undefined && error === null && <Loading />}
      {data?.activity.length === 0 && <p className={styles.meta}>It has changed nothing in the last 30 days.</p>}
      {data !== undefined && data.activity.length > 0 && (
        <ol aria-label={`What “${label}” did`}>
          {data.activity.map((act) => (
            <Act key={act.id} act={act} />
          ))}
        </ol>
      )}
    </details>
  );
}

function Act({ act: { types, task, approved, createdAt } }: { act: KeyAct }) {
  return (
    <li>
      {wordsOfAct(types)}
      {task !== null && (
        <>
          :{" "}
          <Link to="/tasks/$taskId" params={{ taskId: task.id }}>
            <bdi>{task.title}</bdi>
          </Link>
        </>
      )}
      {approved && ", with your approval"}, <Time at={createdAt} />
    </li>
  );
}
