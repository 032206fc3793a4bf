import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { api } from "./client.ts";
import { meQuery } from "./queries.ts";
import { setVisitor } from "./visitor.ts";

/** Connects the tabs of a browser. A tab does not hear itself. */
const tabs = new BroadcastChannel("rebid.session");

const tellOtherTabs = () => tabs.postMessage("changed");

/** When somebody signs in or out in another tab, this one begins anew, so that nothing of the former person stays in it. */
export function followOtherTabs(): void {
  tabs.onmessage = () => location.reload();
}

/** What happens after somebody has signed in: everything is read again as them, and they return to where they were. */
export function useSignedIn(returnTo: string | undefined) {
  const queryClient = useQueryClient();
  const router = useRouter();
  return async () => {
    setVisitor(false);
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
    const me = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
    if (me?.user.timeZone === null) guessTimeZone();
    tellOtherTabs();
    await router.invalidate();
    router.history.push(`${router.basepath}${returnTo ?? "/"}`);
  };
}

/** Daily mails come at 8:00 where the person seems to be, until they say otherwise. */
function guessTimeZone(): void {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  api.auth.update.mutate({ timeZone }).catch(() => {
    // A zone that the service does not know.
  });
}

/** Signs out here, and in all tabs. Leaves the page first, which might need the session. */
export function useSignOut() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => api.auth.logout.mutate(),
    onSuccess: async () => {
      await navigate({ to: "/" });
      setVisitor(true);
      queryClient.setQueryData(meQuery.queryKey, null);
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
      tellOtherTabs();
    },
  });
}

/** Accepts only a path of the console, so that no link to the sign-in page can lead elsewhere afterwards. */
export const readReturnTo = (value: unknown): string | undefined =>
  typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
