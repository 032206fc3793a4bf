import type { RequestHandler } from "express";
import { isAppOrigin, isKeyOrigin, type OriginPolicy } from "../auth/origins.ts";

const METHODS = "GET, HEAD, POST, PATCH, DELETE";
/** The headers that clients send, those of tRPC's links and of the Model Context Protocol included. */
const REQUEST_HEADERS = [
  ...["Authorization", "Content-Type", "Idempotency-Key", "Dry-Run", "X-Request-Id", "If-None-Match", "Last-Event-ID"],
  ...["Trpc-Accept", "X-Trpc-Source", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"],
].join(", ");
/** The headers of answers that a page may read, beside those that it always may. */
const RESPONSE_HEADERS = [
  ...["RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id", "Rebid-Version"],
  ...["Idempotent-Replayed", "Dry-Run", "Allow", "ETag"],
].join(", ");
/** Browsers ask again after this time; Chromium caps it at two hours. */
const PREFLIGHT_SECONDS = 600;

/**
 * Lets pages of other origins read answers, and answers their preflight requests. Only pages of `APP_ORIGINS` get
 * `Access-Control-Allow-Credentials`, without which a browser withholds the answer to a request with the cookie.
 */
export function cors(policy: OriginPolicy): RequestHandler {
  const allowsAny = policy.corsOrigins.includes("*");
  return (request, response, next) => {
    response.setHeader("Vary", "Origin");
    const { origin } = request.headers;
    if (origin === undefined) return next();
    if (isAppOrigin(origin, policy)) {
      response.set({ "Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true" });
    } else if (isKeyOrigin(origin, policy)) {
      response.set("Access-Control-Allow-Origin", allowsAny ? "*" : origin);
    } else {
      return next();
    }
    response.set("Access-Control-Expose-Headers", RESPONSE_HEADERS);
    const isPreflight = request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
    if (!isPreflight) return next();
    response
      .set({
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": REQUEST_HEADERS,
        "Access-Control-Max-Age": String(PREFLIGHT_SECONDS),
      })
      .vary("Access-Control-Request-Headers")
      .status(204)
      .end();
  };
}
