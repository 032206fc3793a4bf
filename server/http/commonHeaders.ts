import { version } from "../version.ts";

/**
 * The headers of every response, whatever it contains. A page replaces the policy, which allows nothing, with its own.
 * `publicUrl` is the service's address as browsers see it: under https, they are told to use nothing else.
 */
export function commonHeaders(publicUrl: string): Record<string, string> {
  const isSecure = publicUrl.startsWith("https:");
  return {
    "Rebid-Version": version,
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    // Not `no-referrer`, with which browsers send `Origin: null` from forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    ...(isSecure && { "Strict-Transport-Security": "max-age=63072000; includeSubDomains" }),
  };
}
