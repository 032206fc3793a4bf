import { notifyManager, QueryCache, QueryClient } from "@tanstack/react-query";
import { failureOf, isTransient } from "./client.ts";
import { pollWithoutEvents } from "./live.ts";
import { meQuery } from "./queries.ts";
import { setVisitor } from "./visitor.ts";

// A microtask, in place of a timer: a box that is ticked shows it before the browser paints, and does not flicker.
notifyManager.setScheduler(queueMicrotask);

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      // The session has ended elsewhere: whoever was signed in is not any more.
      if (failureOf(error)?.error !== "unauthenticated") return;
      setVisitor(true);
      queryClient.setQueryData(meQuery.queryKey, null);
    },
  }),
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 2 && isTransient(error),
      staleTime: 2_000,
      refetchInterval: pollWithoutEvents(),
    },
  },
});
