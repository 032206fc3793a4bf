import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";

/**
 * Listens on 127.0.0.1: on the preferred port if it is free, otherwise on one that the system picks. Looking for a free
 * port beforehand would leave another process a moment to take it.
 * @returns the port
 */
export async function listen(server: Server, preferredPort = 0): Promise<number> {
  try {
    server.listen(preferredPort, "127.0.0.1");
    await once(server, "listening");
  } catch (error) {
    if (preferredPort === 0) throw error;
    return listen(server);
  }
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The server is not listening on a port.");
  return address.port;
}
