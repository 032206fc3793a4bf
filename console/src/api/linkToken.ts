import { useState } from "react";

/** Tokens that were taken out of the address already; React may ask twice. */
const taken = new Map<string, string>();

/**
 * Returns the token of a mail's link, which is in the address's fragment: browsers send that to no server. It is taken out
 * of the address at once, so that it stays neither in the history nor on the screen. Null if there is none.
 */
export function useLinkToken(): string | null {
  const [token] = useState(() => {
    const { pathname, hash } = location;
    const found = new URLSearchParams(hash.slice(1)).get("token");
    if (found) {
      taken.set(pathname, found);
      history.replaceState(history.state, "", pathname);
    }
    return found || taken.get(pathname) || null;
  });
  return token;
}
