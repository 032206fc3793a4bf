import { useNavigate } from "@tanstack/react-router";
import { type ApiFailure, api, failureOf, type Me } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { Confirm } from "../parts/confirm.tsx";
import { PasswordField, TextField } from "../parts/fields.tsx";
import { formatMoney, plural } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import styles from "./account.module.css";

type OpenMatter = NonNullable<ApiFailure["open"]>[number];

/** What keeps an account open, in words. */
function wordsOf({ kind, count = 0, cents = 0 }: OpenMatter): string {
  const words: Record<OpenMatter["kind"], string> = {
    tasks: `${plural(count, "task")} that you posted and that ${count === 1 ? "is" : "are"} not finished`,
    awards: `${plural(count, "task")} that you were awarded and that ${count === 1 ? "is" : "are"} not finished`,
    bids: plural(count, "active bid"),
    disputes: plural(count, "undecided dispute"),
    topups: `${plural(count, "top-up")} under way`,
    payouts: `${plural(count, "payout")} under way`,
    available: `${formatMoney(cents)} available: have them paid out`,
    held: `${formatMoney(cents)} held`,
    debt: `${formatMoney(cents)} of debt`,
  };
  return words[kind];
}

export function CloseAccount({ me }: { me: Me }) {
  const navigate = useNavigate();
  const close = useAction("auth.close", api.auth.close.mutate, { onSuccess: () => navigate({ to: "/" }) });
  const open = failureOf(close.error)?.open ?? [];
  return (
    <Section title="Close the account" card>
      <div>
        <Confirm
          button="Close my account"
          look="danger"
          title="Close your account for good?"
          confirm="Close it for good"
          action={close}
          operation="auth.close"
          read={(fields) => ({
            password: fields.text("password"),
            ...(me.hasSecondFactor && { code: fields.text("code").trim() }),
          })}
        >
          <p>
            Your sessions, keys and webhooks are deleted, and others see “Deleted user”. What others take part in stays.
            This cannot be undone.
          </p>
          {open.length > 0 && (
            <Notice kind="warn" title="This must be finished first">
              <ul className={styles.list}>
                {open.map((matter) => (
                  <li key={matter.kind}>{wordsOf(matter)}</li>
                ))}
              </ul>
            </Notice>
          )}
          <PasswordField name="password" label="Your password" autoComplete="current-password" />
          {me.hasSecondFactor && <TextField name="code" label="Code" autoComplete="one-time-code" />}
        </Confirm>
      </div>
    </Section>
  );
}
