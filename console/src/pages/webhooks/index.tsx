import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, type Webhook } from "../../api/client.ts";
import { webhooksQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { Badge } from "../../parts/badge.tsx";
import { DeveloperTabs } from "../../parts/developerTabs.tsx";
import { TextField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { Rows } from "../../parts/list.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Secret } from "../../parts/secret.tsx";
import { Empty } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "../developers.module.css";
import { EventChoices, readEvents } from "./events.tsx";

export function Webhooks() {
  const { data } = useSuspenseQuery(webhooksQuery);
  return (
    <>
      <DeveloperTabs />
      <Page
        title="Webhooks"
        width="narrow"
        lead={
          <>
            Your server is told when something happens. <a href="/docs/webhooks">How to check the signature</a>
          </>
        }
      >
        <Section title="Your endpoints">
          {data.webhooks.length === 0 ? (
            <Empty title="You have no endpoints">Register the address of your server below.</Empty>
          ) : (
            <Rows label="Webhooks">
              {data.webhooks.map((webhook) => (
                <WebhookRow key={webhook.id} webhook={webhook} />
              ))}
            </Rows>
          )}
        </Section>
        <Register />
      </Page>
    </>
  );
}

function WebhookRow({ webhook: { id, url, events, logEvents, active, createdAt } }: { webhook: Webhook }) {
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>
          <Link to="/webhooks/$webhookId" params={{ webhookId: id }}>
            {url}
          </Link>
        </p>
        <p className={styles.meta}>
          registered <Time at={createdAt} />: {[...events, ...logEvents].join(", ")}
        </p>
      </div>
      {active ? <Badge tone="good">On</Badge> : <Badge tone="bad">Switched off</Badge>}
    </li>
  );
}

function Register() {
  const create = useAction("webhooks.create", api.webhooks.create.mutate);
  return (
    <Section title="Register an endpoint" card>
      {create.isSuccess ? (
        <Secret title="The signing secret" text={create.data.signingSecret} onDone={() => create.reset()} />
      ) : (
        <Form
          action={create}
          operation="webhooks.create"
          read={(fields) => ({ url: fields.text("url"), ...readEvents(fields) })}
          submit="Register"
          fieldOfError={{ invalid_url: "url" }}
        >
          <TextField name="url" label="Address" hint="It begins with https://." inputMode="url" spellCheck={false} />
          <EventChoices />
        </Form>
      )}
    </Section>
  );
}
