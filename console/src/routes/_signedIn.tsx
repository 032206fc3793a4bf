import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Outlet, redirect, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { meQuery } from "../api/queries.ts";

/** Everything below needs a session: a visitor is asked to sign in, and returns to the page that they wanted. */
export const Route = createFileRoute("/_signedIn")({
  beforeLoad: async ({ context: { queryClient }, location }) => {
    const me = await queryClient.ensureQueryData(meQuery);
    if (me === null) throw redirect({ to: "/sign-in", search: { to: location.href } });
  },
  component: SignedIn,
});

/** A session may also end while its pages are open: then they are entered again, as above. */
function SignedIn() {
  const router = useRouter();
  const { data: me } = useQuery(meQuery);
  const isGone = me === null;
  useEffect(() => {
    if (isGone) void router.invalidate();
  }, [isGone, router]);
  return isGone ? null : <Outlet />;
}
