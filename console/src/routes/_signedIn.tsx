import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Navigate, Outlet, redirect, useLocation } from "@tanstack/react-router";
import { meQuery } from "../api/queries.ts";

/** Everything below needs a session: a visitor is asked to sign in, and returns to the page that they wanted. */
export const Route = createFileRoute("/_signedIn")({
  beforeLoad: async ({ context: { queryClient }, location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) throw redirect({ to: "/sign-in", search: { to: location.href } });
    return { me };
  },
  component: SignedIn,
});

/** A session may also end while its pages are open. */
function SignedIn() {
  const { href } = useLocation();
  const { data: me } = useQuery(meQuery);
  if (me === null) return <Navigate to="/sign-in" search={{ to: href }} replace />;
  return <Outlet />;
}
