import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { bareHost } from "../gateways/publicAddress.ts";
import { sql } from "../store/connection.ts";
import type { Transaction } from "../store/database.ts";

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

/** Knows a host from now on. One that exists is locked, so that it is not pruned meanwhile. */
export async function addHost(tx: Transaction, host: string): Promise<void> {
  await tx.query(sql`
    INSERT INTO webhook_hosts (host) VALUES (${host}) ON CONFLICT (host) DO UPDATE SET host = excluded.host`);
}
