import ipaddr from "ipaddr.js";

/**
 * Returns the network by which anonymous callers are told apart: an IPv4 address, or the /64 of an IPv6 address, all of
 * which one subscriber usually has. `ip` is Express' `request.ip`, which is undefined once the socket is destroyed.
 */
export function clientNetwork(ip: string | undefined): string {
  if (ip === undefined || !ipaddr.isValid(ip)) return "unknown";
  const address = ipaddr.process(ip); // turns an IPv4-mapped address into an IPv4 address
  if (address instanceof ipaddr.IPv4) return address.toString();
  return address.parts.slice(0, 4).join(":");
}
