import { api, type BankDetails } from "../../api/client.ts";
import { useAction } from "../../api/useAction.ts";
import { Button } from "../../parts/button.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Section } from "../../parts/page.tsx";
import { Problem } from "../../parts/problem.tsx";

const buttons: Record<BankDetails, string> = {
  missing: "Enter the bank details",
  incomplete: "Go on with the bank details",
  complete: "Change the bank details",
};

interface BankAccountProps {
  details: BankDetails;
  /** Whether the person has just come back from entering them. */
  isBack: boolean;
}

/** Leads to the payment processor, which keeps the bank details: they never come here. */
export function BankAccount({ details, isBack }: BankAccountProps) {
  const start = useAction("payouts.onboarding", (_: undefined, options) => api.payouts.onboarding.mutate({}, options), {
    onSuccess: ({ url }) => location.assign(url),
  });
  return (
    <Section title="Bank details" lead="You enter and change them at the payment processor. Rebid never sees them.">
      {details === "missing" && (
        <Notice title="Your bank details are needed first">Then you can request a payout of any amount here.</Notice>
      )}
      {details === "incomplete" && (
        <Notice kind="warn" title={isBack ? "Your details are being checked" : "Your bank details are not complete"}>
          Payouts can be requested here as soon as they are complete.
        </Notice>
      )}
      {details === "complete" && isBack && (
        <Notice kind="good" title="Your bank details are complete">
          You can request a payout now.
        </Notice>
      )}
      {start.error && <Problem error={start.error} />}
      <div>
        <Button
          look={details === "complete" ? "plain" : "primary"}
          busy={start.isPending}
          onClick={() => start.mutate(undefined)}
        >
          {buttons[details]}
        </Button>
      </div>
    </Section>
  );
}
