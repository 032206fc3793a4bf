import type { Egress } from "../../gateways/egress.ts";
import { readClient } from "./clients.ts";

/** Source: docs/contract.md "Connected apps". */
const MAX_BYTES = 10 * 1024;
const TIMEOUT_MS = 5_000;
export const MAX_CACHE_SECONDS = 86_400;

/**
 * Fetches a client's metadata document through the guard that webhooks have, and returns of it only what the service uses. The
 * library checks the address before and the document's `client_id` after. Rejects whatever is no such document.
 */
export async function fetchDocument(egress: Egress, url: string): Promise<Response> {
  if (!url.startsWith("https://")) throw new Error("A client's document must be at an https address.");
  const { statusCode, headers, body } = await egress.get(url, { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS });
  const type = headers["content-type"] ?? "";
  if (statusCode !== 200) throw new Error(`A client's document was answered with ${statusCode}.`);
  if (!/^application\/([\w.-]+\+)?json(;|$)/i.test(type.trim())) throw new Error("A client's document must be JSON.");
  const given: unknown = JSON.parse(body.toString());
  if (typeof given !== "object" || given === null) throw new Error("A client's document must be an object.");
  const claimed = "client_id" in given && typeof given.client_id === "string" ? given.client_id : "";
  const { client_secret: secret, ...client } = readClient(claimed, given);
  if (secret !== undefined || client.token_endpoint_auth_method !== "none") {
    throw new Error("A public document can name no secret.");
  }
  const cacheControl = headers["cache-control"];
  return Response.json(client, { headers: cacheControl === undefined ? {} : { "cache-control": cacheControl } });
}
