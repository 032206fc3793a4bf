import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { api } from "./client.ts";
import { meQuery } from "./queries.ts";

/** Tells the other tabs that somebody has signed in or out. */
const CHANNEL = "rebid.session";

const tellOtherTabs = () => {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage("changed");
  channel.close();
};

/** Follows what other tabs do: after a sign-in or sign-out there, this tab shows the same person. */
export function useSharedSignIn(): void {
  const queryClient = useQueryClient();
  const router = useRouter();
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = async () => {
      await queryClient.resetQueries();
      await router.invalidate();
    };
    return () => channel.close();
  }, [queryClient, router]);
}

/** What happens after somebody has signed in: everything is read again as them, and they return to where they were. */
export function useSignedIn(returnTo: string | undefined) {
  const queryClient = useQueryClient();
  const router = useRouter();
  return async () => {
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
    await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
    tellOtherTabs();
    await router.invalidate();
    router.history.push(`${router.basepath}${returnTo ?? "/"}`);
  };
}

/** Signs out here, and in all tabs. Leaves the page first, which might need the session. */
export function useSignOut() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => api.auth.logout.mutate(),
    onSuccess: async () => {
      await navigate({ to: "/" });
      queryClient.setQueryData(meQuery.queryKey, null);
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
      tellOtherTabs();
    },
  });
}

/** Accepts only a path of the console, so that no link to the sign-in page can lead elsewhere afterwards. */
export const readReturnTo = (value: unknown): string | undefined =>
  typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
