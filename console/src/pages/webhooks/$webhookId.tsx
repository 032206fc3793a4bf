import { useInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { api, type Webhook, type WebhookDelivery } from "../../api/client.ts";
import { deliveriesQuery, webhooksQuery } from "../../api/queries.ts";
import { useAction } from "../../api/useAction.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { TextField } from "../../parts/fields.tsx";
import { Form } from "../../parts/form.tsx";
import { formatNumber, plural } from "../../parts/format.ts";
import { Pages, Rows } from "../../parts/list.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { Problem } from "../../parts/problem.tsx";
import { Empty, NotFoundPage } from "../../parts/states.tsx";
import { Tabs, tabProps } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import { deliveryStatuses } from "../../search.ts";
import styles from "../developers.module.css";
import { EventChoices, readEvents } from "./events.tsx";

/** Deliveries have no events of their own: while this page is open, they are read again this often. */
const REFRESH_MS = 4_000;
/** Failures of this long ago are repeated together. */
const REPLAY_DAYS = 30;

export function ReadWebhook() {
  const { webhookId } = useParams({ from: "/_signedIn/webhooks/$webhookId" });
  const { data } = useSuspenseQuery(webhooksQuery);
  const test = useAction("webhooks.test", api.webhooks.test.mutate);
  const replay = useAction("webhooks.replaySince", api.webhooks.replaySince.mutate);
  const webhook = data.webhooks.find(({ id }) => id === webhookId);
  if (webhook === undefined) return <NotFoundPage />;
  const replayFailed = () => {
    const since = new Date(Date.now() - REPLAY_DAYS * 86_400_000).toISOString();
    replay.mutate({ id: webhookId, since });
  };
  return (
    <Page
      title={new URL(webhook.url).host}
      lead={<code>{webhook.url}</code>}
      above={
        <div className={styles.actions}>
          <Link to="/webhooks">Webhooks</Link>
          {webhook.active ? <Badge tone="good">On</Badge> : <Badge tone="bad">Switched off</Badge>}
        </div>
      }
      actions={
        <>
          <Button busy={test.isPending} onClick={() => test.mutate({ id: webhookId })}>
            Send a test
          </Button>
          <Button busy={replay.isPending} onClick={replayFailed}>
            Repeat what failed
          </Button>
          <DeleteEndpoint webhookId={webhookId} />
        </>
      }
    >
      {!webhook.active && (
        <Notice kind="warn" title="Nothing is sent at the moment">
          You have switched it off, or your server has answered that it is gone, or failed for days. A test or a
          repetition switches it on again.
        </Notice>
      )}
      {test.error && <Problem error={test.error} />}
      {replay.error && <Problem error={replay.error} />}
      {replay.data && (
        <Notice kind="good" alert>
          Sent again: {plural(replay.data.replayed, "delivery", "deliveries")}.
        </Notice>
      )}
      <Settings key={JSON.stringify(webhook)} webhook={webhook} />
      <Deliveries webhookId={webhookId} />
    </Page>
  );
}

function DeleteEndpoint({ webhookId }: { webhookId: string }) {
  const navigate = useNavigate();
  const remove = useAction("webhooks.remove", api.webhooks.remove.mutate, {
    onSuccess: () => navigate({ to: "/webhooks" }),
  });
  return (
    <Confirm
      button="Delete"
      look="danger"
      title="Delete this endpoint?"
      confirm="Delete the endpoint"
      action={remove}
      operation="webhooks.remove"
      read={() => ({ id: webhookId })}
    >
      <p>Nothing more is sent to it, and its secret is forgotten.</p>
    </Confirm>
  );
}

function Deliveries({ webhookId }: { webhookId: string }) {
  const { status } = useSearch({ from: "/_signedIn/webhooks/$webhookId" });
  const deliveries = useInfiniteQuery({
    ...deliveriesQuery(webhookId, status && [status]),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Section title="Deliveries">
      <Tabs label="Deliveries by status">
        <Link
          {...tabProps}
          to="/webhooks/$webhookId"
          params={{ webhookId }}
          search={{}}
          activeOptions={{ exact: true, explicitUndefined: true }}
        >
          All
        </Link>
        {deliveryStatuses.map((each) => (
          <Link key={each} {...tabProps} to="/webhooks/$webhookId" params={{ webhookId }} search={{ status: each }}>
            {{ pending: "Pending", succeeded: "Delivered", failed: "Failed" }[each]}
          </Link>
        ))}
      </Tabs>
      <Pages
        query={deliveries}
        isEmpty={({ pages }) => pages[0]?.deliveries.length === 0}
        empty={<Empty title="No deliveries">Send a test to see whether your server answers.</Empty>}
      >
        {({ pages }) => (
          <Rows label="Deliveries">
            {pages.flatMap((page) =>
              page.deliveries.map((delivery) => <DeliveryRow key={delivery.id} delivery={delivery} />),
            )}
          </Rows>
        )}
      </Pages>
    </Section>
  );
}

/** Changes the address and the events, and switches the endpoint on and off. */
function Settings({ webhook }: { webhook: Webhook }) {
  const { id, url, active } = webhook;
  const change = useAction("webhooks.update", api.webhooks.update.mutate);
  return (
    <details className={styles.attempts}>
      <summary>Change the endpoint</summary>
      <Form
        action={change}
        operation="webhooks.update"
        read={(fields) => ({ id, url: fields.text("url"), ...readEvents(fields) })}
        submit="Save"
        fieldOfError={{ invalid_url: "url" }}
        beside={
          <Button busy={change.isPending} onClick={() => change.mutate({ id, active: !active })}>
            {active ? "Switch off" : "Switch on"}
          </Button>
        }
      >
        <TextField name="url" label="Address" defaultValue={url} inputMode="url" spellCheck={false} />
        <EventChoices chosen={webhook} />
      </Form>
    </details>
  );
}

/** A sentence that goes on. */
const withoutStop = (sentence: string) => sentence.replace(/\.$/, "");

function DeliveryRow({ delivery }: { delivery: WebhookDelivery }) {
  const { id, event, status, attempts, nextAttemptAt, createdAt } = delivery;
  const replay = useAction("webhooks.replay", api.webhooks.replay.mutate);
  return (
    <li className={styles.row}>
      <div>
        <p className={styles.title}>{event}</p>
        <p className={styles.meta}>
          <Time at={createdAt} />
          {nextAttemptAt && (
            <>
              , next attempt <Time at={nextAttemptAt} />
            </>
          )}
        </p>
      </div>
      <div className={styles.actions}>
        <StatusBadge status={status} />
        <Button size="small" busy={replay.isPending} onClick={() => replay.mutate({ id })}>
          Send again
        </Button>
      </div>
      {replay.error && <Problem error={replay.error} />}
      {attempts.length > 0 && (
        <details className={styles.attempts}>
          <summary>{plural(attempts.length, "attempt")}</summary>
          <ol>
            {attempts.map(({ attemptedAt, statusCode, durationMs, error }) => (
              <li key={attemptedAt}>
                <Time at={attemptedAt} />:{" "}
                {statusCode === null ? withoutStop(error ?? "no answer") : `status ${statusCode}`}, after{" "}
                {formatNumber(durationMs)} ms
              </li>
            ))}
          </ol>
        </details>
      )}
    </li>
  );
}
