import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { sessionsQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Rows } from "../parts/list.tsx";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./account.module.css";
import { browserName } from "./browserName.ts";

/** As many as are shown at first, the newest; a person may have a hundred. */
const SHOWN_AT_FIRST = 5;

/** Where somebody is signed in. */
export function Sessions() {
  const [whole, setWhole] = useState(false);
  const { data, error } = useQuery(sessionsQuery);
  const end = useAction("auth.endSession", api.auth.endSession.mutate);
  return (
    <Section title="Sessions" lead="Every browser that is signed in to your account.">
      {error && <Problem error={error} />}
      {end.error && <Problem error={end.error} />}
      {data === undefined ? (
        <Loading rows={2} />
      ) : (
        <Rows label="Sessions">
          {data.sessions
            .slice(0, whole ? undefined : SHOWN_AT_FIRST)
            .map(({ id, createdAt, lastSeenAt, userAgent, address, current }) => (
              <li key={id} className={styles.row}>
                <div>
                  <p>
                    <bdi title={userAgent ?? undefined}>{browserName(userAgent)}</bdi>, seen <Time at={lastSeenAt} />
                  </p>
                  <p>
                    signed in <Time at={createdAt} />
                    {address !== null && ` from ${address}`}
                  </p>
                </div>
                {current ? (
                  <Badge tone="accent">This one</Badge>
                ) : (
                  <Button
                    size="small"
                    busy={end.isPending && end.variables.id === id}
                    onClick={() => end.mutate({ id })}
                  >
                    Sign out
                  </Button>
                )}
              </li>
            ))}
        </Rows>
      )}
      {data !== undefined && !whole && data.sessions.length > SHOWN_AT_FIRST && (
        <div>
          <Button look="quiet" size="small" onClick={() => setWhole(true)}>
            Show all {data.sessions.length}
          </Button>
        </div>
      )}
    </Section>
  );
}
