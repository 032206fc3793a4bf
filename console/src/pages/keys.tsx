import { useSuspenseQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { keysQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { DeveloperTabs } from "../parts/developerTabs.tsx";
import { Rows } from "../parts/list.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Secret } from "../parts/secret.tsx";
import { Empty } from "../parts/states.tsx";
import { KeyForm } from "./keys/keyForm.tsx";
import { KeyRow } from "./keys/keyRow.tsx";

export function Keys() {
  const { data } = useSuspenseQuery(keysQuery);
  const create = useAction("keys.create", api.keys.create.mutate);
  const apps = data.keys.filter(({ kind }) => kind === "grant");
  const ownKeys = data.keys.filter(({ kind }) => kind === "key");
  return (
    <>
      <DeveloperTabs />
      <Page
        title="API keys"
        width="narrow"
        lead="A key lets a program act for you: as much as you allow, and no longer than you want."
      >
        <Section title="Your keys">
          {ownKeys.length === 0 ? (
            <Empty title="You have no keys">Create one below, and give it to your agent.</Empty>
          ) : (
            <Rows label="API keys">
              {ownKeys.map((key) => (
                <KeyRow key={key.id} apiKey={key} />
              ))}
            </Rows>
          )}
        </Section>
        <Section title="Connected apps">
          {apps.length === 0 ? (
            <Empty title="No app is connected">An app that you allow on its own page stands here.</Empty>
          ) : (
            <Rows label="Connected apps">
              {apps.map((key) => (
                <KeyRow key={key.id} apiKey={key} />
              ))}
            </Rows>
          )}
        </Section>
        <Section title="Create a key" card>
          {create.isSuccess ? (
            <Secret title={`The key “${create.data.label}”`} text={create.data.raw} onDone={() => create.reset()} />
          ) : (
            <KeyForm create={create} />
          )}
        </Section>
      </Page>
    </>
  );
}
