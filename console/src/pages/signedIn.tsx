import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { meQuery } from "../api/queries.ts";

/** A session may also end while its pages are open: then they are entered again, which leads to the sign-in. */
export function SignedIn() {
  const router = useRouter();
  const { data: me } = useQuery(meQuery);
  const isGone = me === null;
  useEffect(() => {
    if (isGone) void router.invalidate();
  }, [isGone, router]);
  return isGone ? null : <Outlet />;
}
