import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, failureOf } from "../api/client.ts";
import { useSignedIn } from "../api/session.ts";
import { useAction } from "../api/useAction.ts";
import { PasswordField, TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";

export function SignIn() {
  const { to } = useSearch({ from: "/sign-in" });
  const signedIn = useSignedIn(to);
  const login = useAction("auth.login", api.auth.login.mutate, { onSuccess: signedIn });
  const [needsCode, setNeedsCode] = useState(false);
  if (!needsCode && failureOf(login.error)?.error === "second_factor_required") setNeedsCode(true);
  return (
    <Page title="Sign in" width="card" lead={to !== undefined && "Sign in to go on; you return to where you were."}>
      <Form
        action={login}
        operation="auth.login"
        read={(fields) => ({
          email: fields.text("email"),
          password: fields.text("password"),
          ...(needsCode && { code: fields.text("code").trim() }),
        })}
        submit="Sign in"
        fieldOfError={needsCode ? { second_factor_required: "code" } : {}}
        handles={needsCode ? [] : ["second_factor_required"]}
        beside={<Link to="/forgot-password">Forgot your password?</Link>}
      >
        <TextField name="email" label="Email address" type="email" autoComplete="username" />
        <PasswordField name="password" label="Password" autoComplete="current-password" />
        {needsCode && (
          <>
            <Notice kind="info">Your password is right. This account also asks for a code.</Notice>
            <TextField
              name="code"
              label="Code"
              hint="The six digits that your authenticator shows, or a recovery code."
              autoComplete="one-time-code"
              autoFocus
            />
          </>
        )}
      </Form>
      <p>
        New here?{" "}
        <Link to="/sign-up" search={{ to }}>
          Create an account
        </Link>
      </p>
    </Page>
  );
}
