import { useMutation } from "@tanstack/react-query";
import { Button } from "../parts/button.tsx";
import type { FieldReader } from "../parts/fieldReader.ts";
import { MoneyField, TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Fact, Facts } from "../parts/list.tsx";
import { Notice } from "../parts/notice.tsx";
import styles from "./connect.module.css";
import type { AskedConsent, ConsentDecision } from "./consents.ts";

const inDollars = (cents: number) => (cents / 100).toFixed(2);

/** What an app may do, and how far. Its defaults let it read and move nothing. */
export function ConsentForm({
  asked,
  decide,
}: {
  asked: AskedConsent;
  decide: (decision: ConsentDecision) => Promise<unknown>;
}) {
  const { defaults } = asked;
  const decision = useMutation<string | null, Error, ConsentDecision>({
    mutationFn: (given) =>
      decide(given).then(
        () => null,
        (error: Error) => error.message,
      ),
  });
  const read = (fields: FieldReader): ConsentDecision => ({
    decision: "allow",
    spendLimitCents: fields.money("spendLimitCents"),
    askAboveCents: fields.money("askAboveCents"),
    endsAfterDays: fields.number("endsAfterDays"),
  });
  return (
    <>
      <Asked {...asked} />
      {decision.data && (
        <Notice kind="bad" alert>
          {decision.data}
        </Notice>
      )}
      <Form
        action={decision}
        operation="oauth.consent"
        read={read}
        submit="Allow"
        beside={
          <Button type="button" busy={decision.isPending} onClick={() => decision.mutate({ decision: "deny" })}>
            Deny
          </Button>
        }
      >
        <Limits {...defaults} />
      </Form>
    </>
  );
}

/** What listens there is a program on the person's own machine, or an app of it: no domain says whose. */
const isOnThisDevice = (redirectHost: string) => /^(localhost|127\.0\.0\.1|\[::1\])(:|$)|:$/.test(redirectHost);

/** Who asks, and for what, in words. */
function Asked({ client, redirectHost, scopes }: AskedConsent) {
  return (
    <>
      <Facts>
        <Fact name="Calls itself">
          <bdi>{client.name}</bdi>
        </Fact>
        {redirectHost !== null && (
          <Fact name="Leads you back to">
            <bdi>{redirectHost}</bdi>
          </Fact>
        )}
      </Facts>
      {redirectHost !== null && isOnThisDevice(redirectHost) && (
        <Notice kind="warn">
          This is a program on this device. Allow it only if you have just started it yourself.
        </Notice>
      )}
      <p>It may:</p>
      <ul className={styles.may}>
        <li>read what you can read here</li>
        {scopes.map(({ scope, words }) => (
          <li key={scope}>{words}</li>
        ))}
      </ul>
    </>
  );
}

function Limits(defaults: AskedConsent["defaults"]) {
  return (
    <>
      <MoneyField
        name="spendLimitCents"
        label="Spend limit"
        hint="Of new tasks, larger budgets and payouts, in all."
        defaultValue={inDollars(defaults.spendLimitCents)}
      />
      <MoneyField
        name="askAboveCents"
        label="Ask me above"
        hint="You approve what holds, commits or pays more than this."
        defaultValue={inDollars(defaults.askAboveCents)}
      />
      <TextField
        name="endsAfterDays"
        label="Ends after"
        hint="Days, up to 365."
        inputMode="numeric"
        defaultValue={`${defaults.endsAfterDays}`}
      />
    </>
  );
}
