import type { Clock } from "../../gateways/clock.ts";
import type { Egress } from "../../gateways/egress.ts";
import { cleanName, readClient } from "./clients.ts";

/** Source: docs/contract.md "Connected apps". */
const MAX_BYTES = 10 * 1024;
const TIMEOUT_MS = 5_000;
const MAX_KEPT_SECONDS = 86_400;
const MIN_KEPT_SECONDS = 60;
/** An authorization request and its error page look a client up more than once. */
const FAILURE_KEPT_SECONDS = 10;
const MAX_KEPT = 100;

interface Fetched {
  text: string;
  keptSeconds: number;
}

interface Kept {
  fetched: Promise<Fetched>;
  untilMs: number;
}

/**
 * Returns what fetches clients' metadata documents, and keeps the latest of them: its own memory and not the library's, which
 * knows only the machine's clock.
 */
export function openDocuments({ egress, clock }: { egress: Egress; clock: Clock }): (url: string) => Promise<Response> {
  const all = new Map<string, Kept>();
  const keep = (url: string): Kept => {
    const nowMs = clock.now().getTime();
    const known = all.get(url);
    if (known !== undefined && known.untilMs > nowMs) return known;
    const until = (seconds: number) => clock.now().getTime() + seconds * 1_000;
    const kept = { fetched: fetchDocument(egress, url), untilMs: Number.POSITIVE_INFINITY };
    kept.fetched.then(
      ({ keptSeconds }) => (kept.untilMs = until(keptSeconds)),
      () => (kept.untilMs = until(FAILURE_KEPT_SECONDS)),
    );
    all.delete(url);
    all.set(url, kept);
    // The first of a Map is the oldest.
    for (const oldest of all.keys()) {
      if (all.size <= MAX_KEPT) break;
      all.delete(oldest);
    }
    return kept;
  };
  return async (url) => {
    const { text } = await keep(url).fetched;
    return new Response(text, { headers: { "content-type": "application/json" } });
  };
}

/**
 * Fetches a document through the guard that webhooks have, and returns of it only what the service uses. The library checks
 * the address before and the document's `client_id` after. Rejects whatever is no such document.
 */
async function fetchDocument(egress: Egress, url: string): Promise<Fetched> {
  if (!url.startsWith("https://")) throw new Error("A client's document must be at an https address.");
  const { statusCode, headers, body } = await egress.get(url, { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS });
  const type = headers["content-type"] ?? "";
  if (statusCode !== 200) throw new Error(`A client's document was answered with ${statusCode}.`);
  if (!/^application\/([\w.-]+\+)?json(;|$)/i.test(type.trim())) throw new Error("A client's document must be JSON.");
  const given: unknown = JSON.parse(body.toString());
  if (typeof given !== "object" || given === null) throw new Error("A client's document must be an object.");
  const claimed = "client_id" in given && typeof given.client_id === "string" ? given.client_id : "";
  const { client_secret: secret, ...client } = readClient(claimed, withoutSigning(given));
  if (secret !== undefined || client.token_endpoint_auth_method !== "none") {
    throw new Error("A public document can name no secret.");
  }
  // Source: MCP 2026-07-28, Client ID Metadata Documents: a document has at least `client_id`, `client_name` and `redirect_uris`.
  if (cleanName(client.client_name ?? "") === "") throw new Error("A client's document must have a name.");
  return { text: JSON.stringify(client), keptSeconds: keptSecondsOf(headers["cache-control"]) };
}

/** An app that prefers to sign its requests for tokens, such as ChatGPT, may say that it can do without. */
function withoutSigning(given: object): object {
  const offered = "token_endpoint_auth_methods_supported" in given ? given.token_endpoint_auth_methods_supported : null;
  const isOffered = Array.isArray(offered) && offered.includes("none");
  return isOffered ? { ...given, token_endpoint_auth_method: "none" } : given;
}

function keptSecondsOf(cacheControl = ""): number {
  const asked = Number(/(?:^|,)\s*max-age\s*=\s*(\d+)/i.exec(cacheControl)?.[1] ?? MIN_KEPT_SECONDS);
  return Math.max(MIN_KEPT_SECONDS, Math.min(MAX_KEPT_SECONDS, asked));
}
