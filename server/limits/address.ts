import ipaddr from "ipaddr.js";

/**
 * Returns what counts as one address: an IPv4 address, also one written as IPv6 (`::ffff:192.0.2.7`), or the /64 network of
 * an IPv6 address, because whoever has one of its addresses has them all. Of the candidates, the first that is an address
 * counts.
 */
export function clientAddress(...candidates: (string | undefined)[]): string {
  const address = candidates.find((candidate) => candidate !== undefined && ipaddr.isValid(candidate));
  if (address === undefined) return "unknown";
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** Where the request comes from. */
export interface Client {
  /** As `clientAddress` returns it. */
  readonly address: string;
  /** The beginning of what it calls itself, or null. Anybody may write anything there. */
  readonly userAgent: string | null;
  /** Aborts when the client has closed its connection, so that nobody waits for the response, or has its whole response. */
  readonly left: AbortSignal;
}
