import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ConsentForm } from "../connect/consentForm.tsx";
import { consents } from "../connect/consents.ts";
import { Notice } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";

/** Where an app sends a person to connect it. */
export function Connect() {
  const { uid } = useParams({ from: "/_signedIn/connect/$uid" });
  const { data: asked, error } = useQuery({
    queryKey: ["consent", uid],
    queryFn: () => consents.read(uid),
    retry: false,
    refetchOnWindowFocus: false,
  });
  if (error) {
    return (
      <Page title="Nothing to allow" width="card">
        <Notice kind="bad" alert>
          {error.message}
        </Notice>
      </Page>
    );
  }
  if (asked === undefined) return null;
  return (
    <Page
      title={`Connect ${asked.client.domain}?`}
      width="card"
      lead="Only allow what you have begun yourself. You can end it at any time, under “API keys”."
    >
      <ConsentForm
        asked={asked}
        decide={async (decision) => {
          const { location } = await consents.decide(uid, decision);
          window.location.assign(location);
        }}
      />
    </Page>
  );
}
