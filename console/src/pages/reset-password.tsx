import { Link } from "@tanstack/react-router";
import { api } from "../api/client.ts";
import { useLinkToken } from "../api/linkToken.ts";
import { useAction } from "../api/useAction.ts";
import { ButtonLink } from "../parts/button.tsx";
import { PasswordField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";

export function ResetPassword() {
  const token = useLinkToken();
  const reset = useAction("auth.resetPassword", api.auth.resetPassword.mutate);
  if (reset.isSuccess) {
    return (
      <Page title="Your password has been changed" width="card">
        <Notice kind="good" alert>
          All sessions of your account have ended and all its API keys are revoked. Sign in with the new password and
          create the keys that your programs need. If somebody else may have been in your account, check your webhooks
          and the account that your payouts go to as well.
        </Notice>
        <ButtonLink to="/sign-in" look="primary">
          Sign in
        </ButtonLink>
      </Page>
    );
  }
  return (
    <Page
      title="Choose a new password"
      width="card"
      lead="Setting it ends all sessions of your account, on every device, and revokes all its API keys."
    >
      {token === null ? (
        <>
          <Notice kind="bad" alert>
            This link is incomplete. Open it from the mail again.
          </Notice>
          <Link to="/forgot-password">Ask for a new link</Link>
        </>
      ) : (
        <Form
          action={reset}
          operation="auth.resetPassword"
          read={(fields) => ({ token, newPassword: fields.text("newPassword") })}
          submit="Set the new password"
          beside={<Link to="/forgot-password">Ask for a new link</Link>}
        >
          <PasswordField
            name="newPassword"
            label="New password"
            hint="A few random words are easy to remember and hard to guess."
            autoComplete="new-password"
          />
        </Form>
      )}
    </Page>
  );
}
