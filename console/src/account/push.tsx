import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { failureOf, type Me } from "../api/client.ts";
import { isOn, isSupported, turnOff, turnOn } from "../api/push.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";

/** Turns notifications on for this browser, and says why a browser refuses. */
export function Push({ me: { user } }: { me: Me }) {
  const queryClient = useQueryClient();
  const isAvailable = isSupported();
  const state = useQuery({ queryKey: ["push", user.id], queryFn: () => isOn(user.id), enabled: isAvailable });
  const change = useMutation({
    mutationFn: (on: boolean) => (on ? turnOn(user.id) : turnOff()),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["push"] }),
  });
  return (
    <Section
      title="Notifications in this browser"
      lead="They appear also while Rebid is closed, until you sign out here."
      actions={state.data ? <Badge tone="good">On</Badge> : <Badge tone="quiet">Off</Badge>}
      card
    >
      {(change.error ?? state.error) && <Refused error={change.error ?? state.error} />}
      {!isAvailable ? (
        <Notice>
          This browser cannot show notifications of websites. On an iPhone or iPad, add Rebid to the home screen, and
          open it from there.
        </Notice>
      ) : state.data ? (
        <div>
          <Button busy={change.isPending} onClick={() => change.mutate(false)}>
            Turn off
          </Button>
        </div>
      ) : (
        <div>
          <Button busy={change.isPending || state.isPending} onClick={() => change.mutate(true)}>
            Turn on
          </Button>
        </div>
      )}
    </Section>
  );
}

/** What the browser's exceptions mean. Everything else is the service's refusal, or the network. */
function Refused({ error }: { error: unknown }) {
  if (!(error instanceof DOMException) || failureOf(error) !== null) return <Problem error={error} />;
  if (error.name === "NotAllowedError") {
    return (
      <Notice kind="bad" alert title="Your browser does not allow it">
        Allow notifications in the browser's settings for this site, which open from the address bar, and try again. A
        private window never allows them.
      </Notice>
    );
  }
  return (
    <Notice kind="bad" alert title="Your browser's push service cannot be reached">
      Some browsers have none or switch it off, and some networks block it. Try again, or use another browser.
    </Notice>
  );
}
