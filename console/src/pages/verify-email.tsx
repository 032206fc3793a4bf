import { api } from "../api/client.ts";
import { useLinkToken } from "../api/linkToken.ts";
import { useAction } from "../api/useAction.ts";
import { Button, ButtonLink } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";

/** Only the button uses the link up: programs that follow the links in mails press none. */
export function VerifyEmail() {
  const token = useLinkToken();
  const verify = useAction("auth.verifyEmail", api.auth.verifyEmail.mutate);
  if (verify.isSuccess) {
    return (
      <Page title="Your address is confirmed" width="card" lead="Thank you.">
        <ButtonLink to="/" look="primary">
          Go on
        </ButtonLink>
      </Page>
    );
  }
  return (
    <Page title="Confirm your address" width="card" lead="One click, and we know that this address is yours.">
      {token === null ? (
        <Notice kind="bad" alert>
          This link is incomplete. Open it from the mail again.
        </Notice>
      ) : (
        <>
          {verify.error && <Problem error={verify.error} />}
          <Button look="primary" busy={verify.isPending} onClick={() => verify.mutate({ token })}>
            Confirm my address
          </Button>
        </>
      )}
    </Page>
  );
}
