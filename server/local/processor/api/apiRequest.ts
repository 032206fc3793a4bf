import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { platform } from "../model/objects.ts";
import { Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";
import type { Route } from "./call.ts";
import { parseForm } from "./form.ts";
import { apiVersion, type RawParameters } from "./parameters.ts";

export interface ApiRequest {
  method: string;
  url: URL;
  headers: IncomingMessage["headers"];
  body: Buffer;
  /** Resolves when the client has disconnected. A request with a simulated timeout waits for it. */
  clientGone: Promise<void>;
}

export function isV2({ url }: ApiRequest): boolean {
  return url.pathname.startsWith("/v2/");
}

export function requireVersion(request: ApiRequest): void {
  const version = request.headers["stripe-version"];
  if (version === apiVersion || (version === undefined && !isV2(request))) return;
  const message = `This processor speaks Stripe's API version ${apiVersion}, not ${String(version)}.`;
  throw new Refusal(400, { message, type: "invalid_request_error" });
}

export function findRoute(routes: readonly Route[], { method, url }: ApiRequest): { route: Route; id: string } {
  for (const route of routes) {
    const match = route.method === method ? route.pattern.exec(url.pathname) : null;
    if (match !== null) return { route, id: match[1] ?? "" };
  }
  const message = `Unrecognized request URL (${method}: ${url.pathname}).`;
  throw new Refusal(404, { message, type: "invalid_request_error" });
}

/** Returns the connected account that the request is made for, or the platform. */
export function findOwner(world: World, { headers, url }: ApiRequest): string {
  const account = headers["stripe-account"] ?? headers["stripe-context"];
  if (account === undefined) return platform;
  if (typeof account !== "string" || world.store.find("v2.core.account", account) === undefined) {
    const message = `The provided key does not have access to account '${String(account)}' (or it does not exist).`;
    throw new Refusal(403, { code: "account_invalid", message, type: "invalid_request_error" });
  }
  if (/^\/v1\/(payouts|balance|events)/.test(url.pathname)) return account;
  const message = "The embedded processor supports this call only for the platform, not for a connected account.";
  throw new Refusal(400, { message, type: "invalid_request_error" });
}

/**
 * Returns the request's idempotency key. Unlike Stripe, this refuses a POST without a key, and also a key that the SDK
 * has generated: such a key is lost in a crash, and then nothing prevents a second payment.
 */
export function requireKey({ headers }: ApiRequest): string {
  const key = headers["idempotency-key"];
  if (typeof key !== "string" || key === "" || key.startsWith("stripe-node-retry-")) {
    throw new Refusal(400, { message: "Every POST needs its own Idempotency-Key.", type: "idempotency_error" });
  }
  if (key.length > 255) {
    throw new Refusal(400, { message: "Idempotency keys can have at most 255 characters.", type: "idempotency_error" });
  }
  return key;
}

export function rawParameters(request: ApiRequest): RawParameters {
  if (request.method === "GET") return { form: parseForm(request.url.search) };
  const body = request.body.toString("utf8");
  const expected = isV2(request) ? "application/json" : "application/x-www-form-urlencoded";
  const type = request.headers["content-type"] ?? expected;
  if (!type.startsWith(expected)) {
    const message = `The content type must be ${expected}, not ${type}.`;
    throw new Refusal(400, { message, type: "invalid_request_error" });
  }
  if (!isV2(request)) return { form: parseForm(body) };
  try {
    return { json: JSON.parse(body === "" ? "{}" : body) };
  } catch {
    throw new Refusal(400, { code: "invalid_fields", message: "The body is not valid JSON." });
  }
}

/** A hash of the request. A retry with the same key must have the same hash to get the stored response. */
export function hashOf({ method, url, body }: ApiRequest): string {
  return sha256(`${method} ${url.pathname} ${body.toString("utf8")}`).toString("hex");
}

export function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
