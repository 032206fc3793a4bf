import { Resolver } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import ipaddr from "ipaddr.js";
import { Agent, buildConnector, errors, request } from "undici";

/** A URL, or an address behind its name, that requests of ours must not reach. The message is for the URL's owner. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
}

/** There was no complete answer in time. The message says why, and nothing about our own network. */
export class EgressFailed extends Error {
  override readonly name = "EgressFailed";
}

/** Requests to addresses that users chose. */
export interface Egress {
  /**
   * Throws EgressRefused when `url` must not be called. A name that does not resolve now passes: each connection is
   * checked again.
   */
  check(url: string): Promise<void>;
  /**
   * POSTs `body` and gives the answer's status. No redirect is followed. `timeoutMs` covers the whole exchange: name
   * look-up, connection, TLS, request and answer, however slowly it drips.
   * Throws EgressRefused or EgressFailed.
   */
  post(
    url: string,
    options: { headers: Record<string, string>; body: Buffer; timeoutMs: number },
  ): Promise<{ statusCode: number }>;
  close(): Promise<void>;
}

/** All addresses of a name; throws when it has none. */
export type ResolveName = (hostname: string) => Promise<string[]>;

/** Of an answer we need the status only; whoever sends more than this is cut off. */
const MAX_ANSWER_BYTES = 64 * 1024;
const KEEP_ALIVE_MS = 4_000;
const REGISTRATION_LOOKUP_MS = 1_000;

// Names that mean the machine or the network that they are used in (RFC 6761, 6762, 8375, and ICANN's .internal).
const localNames = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;

/** Azure's agent answers at this public-looking address, inside of Azure only. */
const AZURE_WIRE_SERVER = "168.63.129.16";
const globalUnicast: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * True for an address of the public internet. IPv4 inside IPv6 is judged as IPv4 when it is mapped, and refused in its
 * other forms (NAT64, 6to4, Teredo): only 2000::/3 is global, and what is special in there is not `unicast`.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false; // ipaddr.js would also take the short forms
  const parsed = ipaddr.process(address);
  if (parsed.range() !== "unicast") return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalUnicast);
  return parsed.toString() !== AZURE_WIRE_SERVER;
}

/** `[::1]` and `localhost.` as they are compared: no brackets, no trailing dot. */
const bareHost = (hostname: string) => hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

/** What can be said of a URL without asking anyone. `new URL` has made every spelling of an IPv4 address the one. */
function parsePublicUrl(text: string): URL {
  if (!URL.canParse(text)) throw new EgressRefused("This is no URL.");
  // What `new URL` silently corrects (blanks, backslashes, missing slashes) is not what its owner would read later.
  if (!/^[a-z]+:\/\/[^\s\\]+$/i.test(text))
    throw new EgressRefused("The URL must be written in full, without blanks or backslashes.");
  const url = new URL(text);
  if (url.protocol !== "https:") throw new EgressRefused("The URL must start with https://.");
  if (url.username !== "" || url.password !== "")
    throw new EgressRefused("The URL must not carry a user or a password.");
  assertPublicHost(url.hostname);
  return url;
}

function assertPublicHost(hostname: string): void {
  const host = bareHost(hostname);
  if (isIP(host) !== 0) {
    if (!isPublicAddress(host)) throw new EgressRefused("The URL's address is not public.");
  } else if (!host.includes(".") || host.split(".").includes("") || localNames.test(host)) {
    throw new EgressRefused("The URL's host is not a public name.");
  }
}

function assertPublicAddresses(addresses: string[]): void {
  // One bad answer among good ones is refused too: which of them a connection takes is chance.
  if (!addresses.every(isPublicAddress)) throw new EgressRefused("The URL's host has an address that is not public.");
}

/**
 * A and AAAA over c-ares: `getaddrinfo` would hold one of four threads that hashing and files need as well, so that a
 * few slow name servers could delay everybody. It also reads no hosts file, which is right for public names.
 */
const resolvePublicName: ResolveName = async (hostname) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const ask = (kind: "resolve4" | "resolve6") =>
    new Promise<string[]>((resolve, reject) => {
      resolver[kind](hostname, (error, addresses) => (error ? reject(error) : resolve(addresses)));
    });
  const answers = await Promise.allSettled([ask("resolve4"), ask("resolve6")]);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length === 0) throw new EgressFailed("The host's name does not resolve.");
  return addresses;
};

/** For local work: also `localhost` and what stands in the hosts file. */
const resolveAnyName: ResolveName = async (hostname) =>
  (await systemLookup(hostname, { all: true })).map(({ address }) => address);

/** A look-up for `net.connect` that hands out only addresses that were checked: what is connected to is what was seen. */
function checkedLookup(resolve: ResolveName, check: (addresses: string[]) => void): LookupFunction {
  return (hostname, options, done) => {
    resolve(bareHost(hostname))
      .then((addresses) => {
        check(addresses);
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (first === undefined) throw new EgressFailed("The host's name does not resolve.");
        return options.all ? done(null, found) : done(null, first.address, first.family);
      })
      .catch((error: Error) => done(error, "", 4));
  };
}

/**
 * The one guard of registration, test and delivery. A `lookup` hook is not called for IP literals, so these are checked
 * beside it; and both happen at each connection, so that neither a name that changes its answer (rebinding) nor a name
 * with a good and a bad answer gets through.
 * `allowInsecure` is for local work: any http or https URL, any address.
 */
export function guardedEgress(options: { allowInsecure: boolean; resolve?: ResolveName }): Egress {
  const { allowInsecure, resolve = allowInsecure ? resolveAnyName : resolvePublicName } = options;
  const connectPlain = buildConnector({
    lookup: checkedLookup(resolve, allowInsecure ? () => {} : assertPublicAddresses),
    // The caller's deadline is shorter; this one ends a connection that nobody waits for any more.
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
      // undici waits for a connection even when it is to be destroyed; `close` ends it.
      const giveUp = () => done(new EgressFailed("The connection was given up."), null);
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
  const parse = (url: string) => (allowInsecure ? parseAnyUrl(url) : parsePublicUrl(url));

  const exchange = async (target: URL, headers: Record<string, string>, body: Buffer, signal: AbortSignal) => {
    const answer = await request(target, { method: "POST", dispatcher: agent, headers, body, signal });
    let bytes = 0;
    for await (const chunk of answer.body) {
      bytes += (chunk as Buffer).length; // undici's body gives buffers
      if (bytes > MAX_ANSWER_BYTES) break; // leaving the loop closes the connection
    }
    return { statusCode: answer.statusCode };
  };

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

    async post(url, { headers, body, timeoutMs }) {
      const target = parse(url);
      const deadline = new AbortController();
      const late = new Promise<never>((_, reject) => {
        deadline.signal.onabort = () => reject(new EgressFailed(`No complete answer within ${timeoutMs / 1000} s.`));
      });
      const timer = setTimeout(() => deadline.abort(), timeoutMs);
      try {
        // undici heeds the signal only once it is connected: the look-up and the connection are bounded by the race.
        return await Promise.race([exchange(target, headers, body, deadline.signal), late]);
      } catch (error) {
        throw error instanceof EgressRefused || error instanceof EgressFailed
          ? error
          : new EgressFailed(explain(error));
      } finally {
        clearTimeout(timer);
      }
    },

    async close() {
      for (const giveUp of connecting) giveUp();
      connecting.clear();
      await agent.destroy();
    },
  };
}

function parseAnyUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new EgressRefused("This is no URL of the web.");
  return url;
}

const reasons: Record<string, string> = {
  ECONNREFUSED: "The connection was refused.",
  ECONNRESET: "The connection was reset.",
  EPIPE: "The connection was closed.",
  ENOTFOUND: "The host's name does not resolve.",
  EHOSTUNREACH: "The host cannot be reached.",
  ENETUNREACH: "The host cannot be reached.",
  ETIMEDOUT: "The connection timed out.",
  UND_ERR_SOCKET: "The connection was closed before the answer was complete.",
  UND_ERR_CONNECT_TIMEOUT: "The connection timed out.",
};

/** What the endpoint's owner is told. Certificates' own codes say best what is wrong with them. */
function explain(error: unknown): string {
  if (error instanceof AggregateError) return explain(error.errors[0]);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = reasons[code];
  if (reason !== undefined) return reason;
  if (error instanceof errors.HTTPParserError || code.startsWith("HPE_")) return "The answer is no valid HTTP.";
  return /^(CERT_|ERR_TLS|ERR_SSL|DEPTH_|SELF_SIGNED|UNABLE_TO)/.test(code)
    ? `TLS failed: ${code}.`
    : "The connection failed.";
}
