import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { useLiveEvents } from "../api/live.ts";
import { meQuery } from "../api/queries.ts";
import { Shell } from "../parts/shell.tsx";

/** What is around every page. */
export function Root() {
  const queryClient = useQueryClient();
  const { data: me = null } = useQuery(meQuery);
  useLiveEvents(queryClient, me?.user.id ?? null);
  return (
    <Shell me={me}>
      <Outlet />
    </Shell>
  );
}
