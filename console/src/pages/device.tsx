import { useMutation } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { ConsentForm } from "../connect/consentForm.tsx";
import { type AskedConsent, consents } from "../connect/consents.ts";
import { TextField } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";

/** Where a person types the code that a program without a browser shows. */
export function Device() {
  const { user_code: given } = useSearch({ from: "/_signedIn/device" });
  const [done, setDone] = useState<"allow" | "deny" | null>(null);
  const find = useMutation<{ asked?: AskedConsent; code: string; problem?: string }, Error, string>({
    mutationFn: (code) =>
      consents.readDevice(code).then(
        (asked) => ({ asked, code }),
        (error: Error) => ({ code, problem: error.message }),
      ),
  });
  if (done !== null) {
    const title = done === "allow" ? "Connected" : "Nothing was allowed";
    return (
      <Page title={title} width="card">
        <p>You can close this page and go back to your device.</p>
      </Page>
    );
  }
  const { asked, code, problem } = find.data ?? {};
  if (asked !== undefined && code !== undefined) {
    return (
      <Page
        title={`Connect ${asked.client.domain || asked.client.name}?`}
        width="card"
        lead={`Only allow this if a device of yours shows the code ${code} now. Whoever sent it to you would get this access.`}
      >
        <ConsentForm
          asked={asked}
          decide={async (decision) => {
            await consents.decideDevice(code, decision);
            setDone(decision.decision);
          }}
        />
      </Page>
    );
  }
  return (
    <Page title="Connect a device" width="card" lead="Type the code that it shows.">
      {problem !== undefined && (
        <Notice kind="bad" alert>
          {problem}
        </Notice>
      )}
      <Form
        action={find}
        operation="oauth.device"
        read={(fields) => fields.text("code").trim().toUpperCase()}
        submit="Go on"
      >
        <TextField name="code" label="Code" autoComplete="off" spellCheck={false} defaultValue={given} autoFocus />
      </Form>
    </Page>
  );
}
