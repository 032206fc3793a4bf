import { useState } from "react";
import { api } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { PasswordField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";

export function ChangePassword() {
  const [changes, setChanges] = useState(0);
  const change = useAction("auth.changePassword", api.auth.changePassword.mutate);
  return (
    <Section title="Password" card>
      <Form
        key={changes}
        action={change}
        operation="auth.changePassword"
        read={(fields) => ({
          currentPassword: fields.text("currentPassword"),
          newPassword: fields.text("newPassword"),
        })}
        submit="Change the password"
        fieldOfError={{ invalid_credentials: "currentPassword" }}
        onDone={() => setChanges(changes + 1)}
      >
        <PasswordField name="currentPassword" label="Current password" autoComplete="current-password" />
        <PasswordField
          name="newPassword"
          label="New password"
          hint="You are signed out everywhere else. API keys stay valid."
          autoComplete="new-password"
        />
      </Form>
      {changes > 0 && (
        <Notice kind="good" alert>
          Your password has been changed.
        </Notice>
      )}
    </Section>
  );
}
