import { useQuery } from "@tanstack/react-query";
import { api, type Me, type Preferences } from "../api/client.ts";
import { preferencesQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { Loading } from "../parts/states.tsx";
import styles from "./account.module.css";

type Kind = keyof Preferences;
type Mail = Preferences[Kind]["mail"];

const kinds: Record<Kind, [name: string, about: string]> = {
  deadlines: ["Deadlines", "Deliveries, disputes, changes and proposals, which end at a time, and reminders"],
  work: ["Work", "Bids, awards, samples, questions, ratings"],
  money: ["Money", "Acceptances, decisions, top-ups, payouts"],
  messages: ["Messages", "One mail for a conversation until you read it"],
  account: ["Account", "New API keys, a new password"],
  marketplace: ["New tasks", "Tasks that others post"],
};
const kindsInOrder = ["deadlines", "work", "money", "messages", "account", "marketplace"] as const;
const mails: Record<Mail, string> = { now: "At once", daily: "Once a day", off: "Never" };
const mailsInOrder = ["now", "daily", "off"] as const;

/** How a person is told of each kind, beside the inbox. Each change is saved at once. */
export function Told({ me }: { me: Me }) {
  const { data, error } = useQuery(preferencesQuery);
  const change = useAction("notifications.updatePreferences", api.notifications.updatePreferences.mutate);
  // What was chosen is shown before the answer is there.
  const asked = change.isPending ? change.variables : {};
  return (
    <Section
      id="told"
      title="How you are told"
      lead="Beside the notifications here. Mails go to a confirmed address only."
      card
    >
      {(change.error ?? error) && <Problem error={change.error ?? error} />}
      {data === undefined ? (
        <Loading />
      ) : (
        <table className={styles.told}>
          <thead>
            <tr>
              <th scope="col">About</th>
              <th scope="col">By mail</th>
              <th scope="col">In browsers</th>
            </tr>
          </thead>
          <tbody>
            {kindsInOrder.map((kind) => (
              <KindRow
                key={kind}
                kind={kind}
                preference={{ ...data.preferences[kind], ...asked[kind] }}
                onChange={(changed) => change.mutate({ [kind]: changed })}
              />
            ))}
          </tbody>
        </table>
      )}
      <TimeZone me={me} />
      <p role="status" className={styles.quiet}>
        {change.isSuccess && "Saved."}
      </p>
    </Section>
  );
}

interface KindProps {
  kind: Kind;
  preference: Preferences[Kind];
  onChange: (changed: Partial<Preferences[Kind]>) => void;
}

function KindRow({ kind, preference: { mail, push }, onChange }: KindProps) {
  const [name, about] = kinds[kind];
  return (
    <tr>
      <th scope="row">
        {name}
        <small>{about}</small>
      </th>
      <td>
        <select
          aria-label={`${name} by mail`}
          value={mail}
          onChange={({ target }) => onChange({ mail: mailsInOrder.find((each) => each === target.value) ?? mail })}
        >
          {mailsInOrder
            .filter((each) => kind !== "account" || each !== "off")
            .map((each) => (
              <option key={each} value={each}>
                {mails[each]}
              </option>
            ))}
        </select>
      </td>
      <td>
        <input
          type="checkbox"
          aria-label={`${name} in browsers`}
          checked={push}
          onChange={({ target }) => onChange({ push: target.checked })}
        />
      </td>
    </tr>
  );
}

const zones = Intl.supportedValuesOf("timeZone");

/** When the daily mail comes. */
function TimeZone({ me: { user } }: { me: Me }) {
  const change = useAction("auth.update", api.auth.update.mutate);
  const zone = (change.isPending ? change.variables.timeZone : user.timeZone) ?? "UTC";
  return (
    <div className={styles.line}>
      <label htmlFor="time-zone">The daily mail comes at 8:00 in</label>
      <select id="time-zone" value={zone} onChange={({ target }) => change.mutate({ timeZone: target.value })}>
        {[...new Set([zone, "UTC", ...zones])].toSorted().map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      {change.error && <Problem error={change.error} />}
    </div>
  );
}
