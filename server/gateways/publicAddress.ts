import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { EgressRefused } from "./egressErrors.ts";

// Names that mean the local machine or network (RFC 6761, 6762, 8375, and ICANN's .internal).
const localNames = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;

/** Looks public, but inside Azure it is the address of the platform's own agent. */
const AZURE_WIRE_SERVER = "168.63.129.16";
const globalUnicast: [ipaddr.IPv6, number] = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Whether this is an address on the public internet. An IPv4-mapped IPv6 address counts as IPv4; other forms of IPv4
 * inside IPv6 (NAT64, 6to4, Teredo) are refused: only 2000::/3 is global, and its special ranges are not `unicast`.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false; // ipaddr.js also accepts short forms such as 127.1
  const parsed = ipaddr.process(address);
  if (parsed.range() !== "unicast") return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalUnicast);
  return parsed.toString() !== AZURE_WIRE_SERVER;
}

/** A hostname without brackets and trailing dot: `[::1]` becomes `::1`, `localhost.` becomes `localhost`. */
export const bareHost = (hostname: string) => hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

/**
 * Parses a URL and checks everything that needs no name lookup. `new URL` normalises all spellings of an IPv4 address.
 * @throws EgressRefused
 */
export function parsePublicUrl(text: string): URL {
  if (!URL.canParse(text)) throw new EgressRefused("This is not a valid URL.");
  // `new URL` silently corrects blanks, backslashes and missing slashes; the owner would later see a different URL.
  if (!/^[a-z]+:\/\/[^\s\\]+$/i.test(text))
    throw new EgressRefused("Write the URL in full, without blanks or backslashes.");
  const url = new URL(text);
  if (url.protocol !== "https:") throw new EgressRefused("The URL must start with https://.");
  if (url.username !== "" || url.password !== "")
    throw new EgressRefused("The URL must not contain a user name or password.");
  assertPublicHost(url.hostname);
  return url;
}

/** @throws EgressRefused for an address that is not public, or a name that can only be local */
export function assertPublicHost(hostname: string): void {
  const host = bareHost(hostname);
  if (isIP(host) !== 0) {
    if (!isPublicAddress(host)) throw new EgressRefused("The URL's address is not public.");
  } else if (!host.includes(".") || host.split(".").includes("") || localNames.test(host)) {
    throw new EgressRefused("The URL's host is not a public name.");
  }
}

/** @throws EgressRefused */
export function assertPublicAddresses(addresses: string[]): void {
  // A single bad address among good ones is enough: which one a connection uses is left to chance.
  if (!addresses.every(isPublicAddress)) throw new EgressRefused("The URL's host has an address that is not public.");
}

/** Accepts any http or https URL, for development. */
export function parseAnyUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new EgressRefused("This is not an http or https URL.");
  return url;
}
