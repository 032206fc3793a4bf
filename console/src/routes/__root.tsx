import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, Outlet } from "@tanstack/react-router";
import { useLiveEvents } from "../api/live.ts";
import { meQuery } from "../api/queries.ts";
import { Shell } from "../parts/shell.tsx";

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  // Pages differ for visitors, so who is here is known before the first one is drawn.
  beforeLoad: ({ context: { queryClient } }) => queryClient.ensureQueryData(meQuery),
  component: Root,
});

function Root() {
  const queryClient = useQueryClient();
  const { data: me = null } = useQuery(meQuery);
  useLiveEvents(queryClient, me?.user.id ?? null);
  return (
    <Shell me={me}>
      <Outlet />
    </Shell>
  );
}
