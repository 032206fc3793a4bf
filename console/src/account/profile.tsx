import { api, type Me } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import styles from "./account.module.css";

/** Name and address. */
export function Profile({ me: { user } }: { me: Me }) {
  const update = useAction("auth.update", api.auth.update.mutate);
  const resend = useAction("auth.resendVerification", (_: undefined, options) =>
    api.auth.resendVerification.mutate({}, options),
  );
  return (
    <Section title="Profile" card>
      <p className={styles.line}>
        <span>{user.email}</span>
        {user.emailVerifiedAt === null ? (
          <Badge tone="warn">Not confirmed</Badge>
        ) : (
          <Badge tone="good">Confirmed</Badge>
        )}
      </p>
      {user.emailVerifiedAt === null &&
        (resend.isSuccess ? (
          <Notice kind="good" alert>
            A mail with a link is on its way.
          </Notice>
        ) : (
          <div>
            {resend.error && <Problem error={resend.error} />}
            <Button size="small" busy={resend.isPending} onClick={() => resend.mutate(undefined)}>
              Mail me the link again
            </Button>
          </div>
        ))}
      <Form
        action={update}
        operation="auth.update"
        read={(fields) => ({ displayName: fields.text("displayName") })}
        submit="Save the name"
      >
        <TextField
          name="displayName"
          label="Name"
          hint="Others see it. What has happened already keeps the old one."
          defaultValue={user.displayName}
          autoComplete="name"
        />
        {update.isSuccess && (
          <Notice kind="good" alert>
            Saved.
          </Notice>
        )}
      </Form>
    </Section>
  );
}
