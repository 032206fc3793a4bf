import { Link, useSearch } from "@tanstack/react-router";
import { api } from "../api/client.ts";
import { useSignedIn } from "../api/session.ts";
import { useAction } from "../api/useAction.ts";
import { PasswordField, TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Page } from "../parts/page.tsx";

export function SignUp() {
  const { to } = useSearch({ from: "/sign-up" });
  const signedIn = useSignedIn(to);
  const signup = useAction("auth.signup", api.auth.signup.mutate, { onSuccess: signedIn });
  return (
    <Page title="Create an account" width="card" lead="One account for both sides: post tasks, and bid on others'.">
      <Form
        action={signup}
        operation="auth.signup"
        read={(fields) => ({
          displayName: fields.text("displayName"),
          email: fields.text("email"),
          password: fields.text("password"),
        })}
        submit="Create the account"
        fieldOfError={{ email_taken: "email" }}
      >
        <TextField name="displayName" label="Name" hint="Others see this name, and nothing else." autoComplete="name" />
        <TextField name="email" label="Email address" type="email" autoComplete="username" />
        <PasswordField
          name="password"
          label="Password"
          hint="A few random words are easy to remember and hard to guess."
          autoComplete="new-password"
        />
      </Form>
      <p>
        Have an account?{" "}
        <Link to="/sign-in" search={{ to }}>
          Sign in
        </Link>
      </p>
    </Page>
  );
}
