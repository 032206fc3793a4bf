import { Link } from "@tanstack/react-router";
import { api } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";

export function ForgotPassword() {
  const forgot = useAction("auth.forgotPassword", api.auth.forgotPassword.mutate);
  return (
    <Page title="Forgot your password?" width="card" lead="We mail you a link with which you choose a new one.">
      {forgot.isSuccess ? (
        <Notice kind="good" alert title="Look into your mailbox">
          If {forgot.variables.email} has an account, a mail is on its way. Its link works once, for an hour.
        </Notice>
      ) : (
        <Form
          action={forgot}
          operation="auth.forgotPassword"
          read={(fields) => ({ email: fields.text("email") })}
          submit="Mail me a link"
        >
          <TextField name="email" label="Email address" type="email" autoComplete="username" />
        </Form>
      )}
      <p>
        <Link to="/sign-in">Back to signing in</Link>
      </p>
    </Page>
  );
}
