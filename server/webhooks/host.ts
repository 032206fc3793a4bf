import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { bareHost } from "../gateways/publicAddress.ts";

const defaultPorts: Record<string, string> = { "https:": "443", "http:": "80" };

/**
 * Returns the server that a URL points to, as `host:port` in one spelling: lower case, international names in ASCII, no
 * trailing dot, the default port written out, and an IPv4 address as such however it was written.
 */
export function receivingHost(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const host = bareHost(hostname);
  const canonical = isIP(host) === 0 ? host : ipaddr.process(host).toString();
  return `${canonical.includes(":") ? `[${canonical}]` : canonical}:${port || defaultPorts[protocol]}`;
}
