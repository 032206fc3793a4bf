import { useState } from "react";
import { encode } from "uqr";
import { api, type Me } from "../api/client.ts";
import { type Action, useAction } from "../api/useAction.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { PasswordField, TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Secret } from "../parts/secret.tsx";
import styles from "./account.module.css";

/** Sets up and removes the codes that a sign-in needs besides the password. */
export function SecondFactor({ me }: { me: Me }) {
  const start = useAction("auth.startTotp", api.auth.startTotp.mutate);
  const confirm = useAction("auth.confirmTotp", api.auth.confirmTotp.mutate);
  const [isOpen, setOpen] = useState(false);
  const finish = () => {
    setOpen(false);
    start.reset();
    confirm.reset();
  };
  return (
    <Section
      title="Second factor"
      lead="A sign-in then also needs a code from an authenticator app, which a stolen password does not have."
      actions={me.hasSecondFactor ? <Badge tone="good">On</Badge> : <Badge tone="quiet">Off</Badge>}
      card
    >
      {me.role === "moderator" && !me.auth.moderator && (
        <Notice kind="warn">
          Moderators need a second factor here. {me.hasSecondFactor && "Sign out, and sign in again with a code."}
        </Notice>
      )}
      {confirm.isSuccess ? (
        <Secret title="Your recovery codes" text={confirm.data.recoveryCodes.join("\n")} onDone={finish} />
      ) : start.isSuccess ? (
        <Confirmation secret={start.data} action={confirm} onCancel={finish} />
      ) : me.hasSecondFactor ? (
        <Remove />
      ) : isOpen ? (
        <Form
          action={start}
          operation="auth.startTotp"
          read={(fields) => ({ password: fields.text("password") })}
          submit="Go on"
          fieldOfError={{ invalid_credentials: "password" }}
          beside={
            <Button look="quiet" onClick={finish}>
              Not now
            </Button>
          }
        >
          <PasswordField name="password" label="Your password" autoComplete="current-password" />
        </Form>
      ) : (
        <div>
          <Button onClick={() => setOpen(true)}>Set it up</Button>
        </div>
      )}
    </Section>
  );
}

interface ConfirmationProps {
  secret: { otpauthUrl: string; secret: string };
  action: Action<{ code: string }, { recoveryCodes: string[] }>;
  onCancel: () => void;
}

/** The secret, and the form that proves that an app has it. */
function Confirmation({ secret, action, onCancel }: ConfirmationProps) {
  return (
    <>
      <div className={styles.secret}>
        <QrCode text={secret.otpauthUrl} />
        <div>
          <p>Scan it with your authenticator app, or enter this secret there:</p>
          <code>{secret.secret}</code>
        </div>
      </div>
      <Form
        action={action}
        operation="auth.confirmTotp"
        read={(fields) => ({ code: fields.text("code").trim() })}
        submit="Switch it on"
        fieldOfError={{ second_factor_required: "code" }}
        beside={
          <Button look="quiet" onClick={onCancel}>
            Not now
          </Button>
        }
      >
        <TextField name="code" label="Code" hint="The six digits that the app shows now." inputMode="numeric" />
      </Form>
    </>
  );
}

function Remove() {
  const remove = useAction("auth.removeTotp", api.auth.removeTotp.mutate);
  return (
    <div>
      <Confirm
        button="Switch it off"
        look="danger"
        title="Switch off the second factor?"
        confirm="Switch it off"
        action={remove}
        operation="auth.removeTotp"
        read={(fields) => ({ password: fields.text("password"), code: fields.text("code").trim() })}
      >
        <p>Then a password is enough to sign in. You are signed out everywhere else.</p>
        <PasswordField name="password" label="Your password" autoComplete="current-password" />
        <TextField
          name="code"
          label="Code"
          hint="Of your authenticator, or a recovery code."
          autoComplete="one-time-code"
        />
      </Confirm>
    </div>
  );
}

/** Always dark on light: many apps cannot read the opposite. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg viewBox={`0 0 ${size} ${size}`} className={styles.qr} role="img" aria-label="QR code of the secret">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
