import type { Request } from "express";

/** Whose pages may call the service from a browser. Source: docs/contract.md "Authentication". */
export interface OriginPolicy {
  readonly publicUrl: string;
  /** Front ends of the operator's own: their requests may carry the session cookie. */
  readonly appOrigins: readonly string[];
  /** Other front ends, which may use API keys only; `*` is any. */
  readonly corsOrigins: readonly string[];
  /** Whether every port of this machine counts as one of `appOrigins`, as in development. */
  readonly trustLocalhost: boolean;
}

const localhost = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

export function isAppOrigin(origin: string, { appOrigins, trustLocalhost }: OriginPolicy): boolean {
  return appOrigins.includes(origin) || (trustLocalhost && localhost.test(origin));
}

/** True for an origin that `CORS_ORIGINS` lets in. */
export function isKeyOrigin(origin: string, { corsOrigins }: OriginPolicy): boolean {
  return corsOrigins.includes("*") || corsOrigins.includes(origin);
}

/** True for a request from a page of an origin that is neither the service's own nor an app's. */
export function isForeign({ headers, protocol }: Request, policy: OriginPolicy): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return false;
  const isOwn = origin === new URL(policy.publicUrl).origin || origin === `${protocol}://${host}`;
  return !isOwn && !isAppOrigin(origin, policy);
}

/**
 * True for a request from a page that is not the service's own: a stricter `isForeign`, for what needs no credentials. It
 * does not believe the `Host` header, which a page can choose by rebinding its own name to this machine.
 */
export function isForeignPage({ headers }: Request, policy: OriginPolicy): boolean {
  const { origin } = headers;
  if (origin === undefined) return headers["sec-fetch-site"] === "cross-site";
  return origin !== new URL(policy.publicUrl).origin && !isAppOrigin(origin, policy);
}

/** True for a request that the cookie must not authenticate, because its page may read the answer. */
export function takesKeysOnly(request: Request, policy: OriginPolicy): boolean {
  return isForeign(request, policy) && isKeyOrigin(request.headers.origin ?? "", policy);
}
