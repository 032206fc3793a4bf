import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { EgressFailed, EgressRefused } from "./egressErrors.ts";
import { explain } from "./egressReasons.ts";
import { assertPublicAddresses, assertPublicHost, bareHost, parseAnyUrl, parsePublicUrl } from "./publicAddress.ts";
import { checkedLookup, type ResolveName, resolveAnyName, resolvePublicName } from "./resolveName.ts";

/** Sends requests to addresses that users chose. */
export interface Egress {
  /**
   * Throws EgressRefused when `url` must not be called. A name that does not resolve within a second passes, because
   * every connection is checked again.
   */
  check(url: string): Promise<void>;
  /**
   * POSTs `body` and returns the response's status. Does not follow redirects. `timeoutMs` covers the whole exchange:
   * name lookup, connection, TLS, request and response, however slowly it arrives.
   * Throws EgressRefused or EgressFailed.
   */
  post(
    url: string,
    options: { headers: Record<string, string>; body: Buffer; timeoutMs: number },
  ): Promise<{ statusCode: number }>;
  /**
   * GETs a document and returns it. Does not follow redirects; rejects one of more than `maxBytes`. Otherwise like `post`.
   */
  get(url: string, options: { maxBytes: number; timeoutMs: number }): Promise<Document>;
  close(): Promise<void>;
}

interface Document {
  statusCode: number;
  headers: { readonly "content-type"?: string; readonly "cache-control"?: string };
  body: Buffer;
}

/** Only the status of a response is needed. A body longer than this is cut off. */
const MAX_RESPONSE_BYTES = 64 * 1024;
const KEEP_ALIVE_MS = 4_000;
const REGISTRATION_LOOKUP_MS = 1_000;

/**
 * The guard that registration, test and delivery share. Node calls no `lookup` hook for IP literals, so those are
 * checked separately. Both checks run on every connection, so neither a name that changes its address (DNS rebinding)
 * nor a name with a good and a bad address gets through. `allowInsecure` is for development: any http or https URL, any
 * address.
 */
export function guardedEgress(options: { allowInsecure: boolean; resolve?: ResolveName }): Egress {
  const { allowInsecure, resolve = allowInsecure ? resolveAnyName : resolvePublicName } = options;
  let opened: ReturnType<typeof openAgent> | undefined;
  // The first request loads `undici`, which no start needs.
  const exchange = async (...request: Parameters<ReturnType<typeof openAgent>["exchange"]>) => {
    if (opened === undefined) {
      const undici = await import("undici");
      opened ??= openAgent(undici, allowInsecure, resolve);
    }
    return opened.exchange(...request);
  };
  const parse = (url: string) => (allowInsecure ? parseAnyUrl(url) : parsePublicUrl(url));

  return {
    async check(url) {
      const { hostname } = parse(url);
      if (allowInsecure || isIP(bareHost(hostname)) !== 0) return;
      const giveUp = new AbortController();
      const addresses = await Promise.race([
        resolve(bareHost(hostname)).catch(() => []),
        sleep(REGISTRATION_LOOKUP_MS, [], { signal: giveUp.signal }),
      ]).finally(() => giveUp.abort());
      assertPublicAddresses(addresses);
    },

    post: async (url, { headers, body, timeoutMs }) => {
      const target = parse(url);
      const request = { method: "POST", headers, body, maxBytes: MAX_RESPONSE_BYTES } as const;
      const { statusCode } = await within(timeoutMs, (signal) => exchange(target, request, signal));
      return { statusCode };
    },

    get: async (url, { maxBytes, timeoutMs }) => {
      const target = parse(url);
      const request = { method: "GET", headers: { accept: "application/json" }, maxBytes } as const;
      const { isCut, ...document } = await within(timeoutMs, (signal) => exchange(target, request, signal));
      if (isCut) throw new EgressFailed(`The document has more than ${maxBytes} bytes.`);
      return document;
    },

    close: async () => opened?.close(),
  };
}

/** Runs an exchange that ends in time, however slow the other side is. Throws EgressRefused or EgressFailed. */
async function within<Result>(timeoutMs: number, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const deadline = new AbortController();
  const late = new Promise<never>((_, reject) => {
    deadline.signal.onabort = () => reject(new EgressFailed(`No complete response within ${timeoutMs / 1000} s.`));
  });
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    // undici respects the signal only once it is connected; the race bounds the lookup and the connection.
    return await Promise.race([run(deadline.signal), late]);
  } catch (error) {
    throw error instanceof EgressRefused || error instanceof EgressFailed ? error : new EgressFailed(explain(error));
  } finally {
    clearTimeout(timer);
  }
}

interface Outgoing {
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: Buffer;
  maxBytes: number;
}

/** Exchanges requests for responses, over connections that are checked. */
function openAgent(
  { Agent, buildConnector, request }: typeof import("undici"),
  allowInsecure: boolean,
  resolve: ResolveName,
) {
  const connectPlain = buildConnector({
    lookup: checkedLookup(resolve, allowInsecure ? () => {} : assertPublicAddresses),
    // Ends connections that nobody is waiting for any more; the caller's own deadline is shorter.
    timeout: 15_000,
    autoSelectFamily: true,
  });
  const connecting = new Set<() => void>();
  const agent = new Agent({
    connect: (target, done) => {
      try {
        if (!allowInsecure) assertPublicHost(target.hostname);
      } catch (error) {
        return done(error instanceof Error ? error : new Error(String(error)), null);
      }
      // While being destroyed, undici still waits for pending connections, so `close` ends them.
      const giveUp = () => done(new EgressFailed("The connection was abandoned."), null);
      connecting.add(giveUp);
      connectPlain(target, (...result) => {
        const [, socket] = result;
        if (connecting.delete(giveUp)) done(...result);
        else socket?.destroy();
      });
    },
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    async exchange(target: URL, { maxBytes, ...outgoing }: Outgoing, signal: AbortSignal) {
      const response = await request(target, { ...outgoing, dispatcher: agent, signal });
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of response.body) {
        chunks.push(chunk as Buffer); // undici's body yields buffers
        bytes += (chunk as Buffer).length;
        if (bytes > maxBytes) break; // leaving the loop closes the connection
      }
      const headerOf = (name: string) => [response.headers[name]].flat()[0];
      const [type, cacheControl] = [headerOf("content-type"), headerOf("cache-control")];
      const headers = {
        ...(type !== undefined && { "content-type": type }),
        ...(cacheControl !== undefined && { "cache-control": cacheControl }),
      };
      return { statusCode: response.statusCode, headers, body: Buffer.concat(chunks), isCut: bytes > maxBytes };
    },
    async close() {
      for (const giveUp of connecting) giveUp();
      connecting.clear();
      await agent.destroy();
    },
  };
}
